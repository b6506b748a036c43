// Package ladder draws a trace as a sequence diagram in text, one line per packet, for readers and for golden files. It
// holds the whole drawing in memory, so it is for short runs and for windows of long ones.
package ladder

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/iwarp"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Options select the contents of a ladder. The zero value shows every packet and the events that an application sees.
type Options struct {
	Absolute   bool // absolute PSNs; otherwise relative to the first request of their half-conversation
	Everything bool // all attributes of packets, not only the most important ones
	AllEvents  bool // also stores, timers, probes and posts
	OneConn    bool // draw only connection Conn
	Conn       int
	First      uint64 // index in the stream of the first record given
	Window     bool   // draw only Before and After records around record Center
	Center     uint64
	Before     int
	After      int
	Marks      map[uint64]string // by record index: a note beside the packet, such as the rule that it breaks
}

// leastWidth is the width of the space between the two sides; a ladder with a longer packet is wider.
const leastWidth = 50

// missGap is the distance of the X of a lost or injected packet from the side at which the packet was not seen.
const missGap = 10

// Draw draws a trace as a sequence diagram, one line per packet:
//
//	     sent      recv  A                                                  B
//	    0.088     5.088  |-- WRITE_FIRST psn=+0 len=1024 ------------------>|
//	    0.264         -  |-- WRITE_MIDDLE psn=+2 len=1024 -------X          |  drop[0]
//	    5.358    10.358  |<----------------- NAK psn=+2 msn=0 PSN_SEQ_ERR --|
//	event 20.628 A CQE wr=1
//
// A path with a middlebox in it has three columns, the box in the middle.
//
// Times are in microseconds. A packet that the link made begins at X, a packet that it changed arrives with a star, and
// the cause, if known, is on the right. Records and events must be in time order.
func Draw(w io.Writer, h *trace.Header, records []trace.Record, events []trace.Event, opt Options) error {
	l := drawing{h: h, opt: opt, width: leastWidth}
	l.draw(records, events)
	_, err := io.WriteString(w, l.text())
	return err
}

// drawing is a ladder in progress. Lines are laid out last, when the longest packet is known.
type drawing struct {
	h     *trace.Header
	opt   Options
	width int
	rungs []rung

	streams streams
}

// rung is a line of a ladder.
type rung struct {
	event      string // the whole line, when it is not a packet
	sent, recv string
	from       trace.Side
	lost, made bool // X at the receiver's side, or at the sender's
	changed    bool
	hop        trace.Hop
	text       string
	note       string
}

// draw merges records and events by time. An event comes before packets of the same time, which it caused.
func (l *drawing) draw(records []trace.Record, events []trace.Event) {
	from, to := l.window(records)
	for i := range records {
		r := &records[i]
		index := l.opt.First + uint64(i)
		n := 0
		for n < len(events) && events[n].At <= r.Time() {
			n++
		}
		l.events(events[:n], from, to)
		events = events[n:]
		if l.shows(r.Conn) && l.near(index) {
			l.packet(r, index)
		}
	}
	l.events(events, from, to)
}

// near reports whether a record lies in the window.
func (l *drawing) near(index uint64) bool {
	o := &l.opt
	return !o.Window || index+uint64(o.Before) >= o.Center && index <= o.Center+uint64(o.After)
}

// window returns the times between which events are drawn.
func (l *drawing) window(records []trace.Record) (from, to vtime.Time) {
	if !l.opt.Window {
		return 0, vtime.Never
	}
	from, to = vtime.Never, 0
	for i := range records {
		r := &records[i]
		if l.near(l.opt.First + uint64(i)) {
			from = min(from, r.Time())
			to = max(to, r.Time())
			if r.Recv != vtime.Never {
				to = max(to, r.Recv)
			}
		}
	}
	return from, to
}

// shows reports whether a connection is drawn.
func (l *drawing) shows(conn int) bool { return !l.opt.OneConn || conn == l.opt.Conn }

// packet adds the rung of a record, and makes the ladder as wide as its text needs.
func (l *drawing) packet(r *trace.Record, index uint64) {
	g := rung{sent: r.Sent.Micros(), recv: r.Recv.Micros(), from: r.From, changed: r.Changed != nil,
		hop: l.h.On(r.Conn)}
	g.lost = r.Fate == trace.Dropped
	g.made = r.Fate == trace.Injected
	g.text = l.packetText(r, &r.Packet, r.ICRC, r.Defect)
	var notes []string
	if r.Copy {
		notes = append(notes, "copy")
	}
	if r.Cause != "" {
		notes = append(notes, r.Cause)
	}
	if c := r.Changed; c != nil {
		notes = append(notes, "as "+l.packetText(r, &c.Packet, c.ICRC, c.Defect))
	}
	g.note = strings.Join(notes, " ")
	if m := l.opt.Marks[index]; m != "" {
		g.note = strings.TrimPrefix(g.note+"  <== "+m, "  ")
	}
	l.width = max(l.width, utf8.RuneCountInString(g.text)+missGap+5)
	l.rungs = append(l.rungs, g)
}

// packetText returns the one-line form of a packet, with the defect of its bytes.
func (l *drawing) packetText(r *trace.Record, p *roce.Packet, icrc trace.Integrity, defect string) string {
	opt := roce.TextOptions{Relative: !l.opt.Absolute, Base: l.start(r, p)}
	if !l.opt.Everything {
		opt.Omit = roce.OmitForLadder
	}
	var s string
	switch {
	case p.Opcode == roce.TCP && !l.opt.Everything:
		s = l.streams.text(r, p)
	case p.Opcode.OverIP() && !l.opt.Everything:
		s = string(iwarp.AppendSummary(nil, p))
	default:
		s = string(p.AppendText(nil, opt)) + l.setUp(r, p)
	}
	switch {
	case icrc == trace.Bad && p.Opcode == roce.TCP:
		s += " checksum=bad"
	case icrc == trace.Bad:
		s += " icrc=bad"
	}
	if defect != "" {
		s += " malformed"
	}
	return s
}

// setUp returns the message of the communication manager that a packet carries, with its QPN and start PSN; "" for
// other packets.
func (l *drawing) setUp(r *trace.Record, p *roce.Packet) string {
	if p.DestQP != roce.CMQueuePair || r.Conn < 0 || r.Conn >= len(l.h.Conns) {
		return ""
	}
	h, m, err := roce.DecodeCM(p.Payload)
	if err != nil {
		return ""
	}
	// The PSN in a message is the start PSN of its receiver.
	start := func(p psn.PSN) string {
		if l.opt.Absolute {
			return p.String()
		}
		return fmt.Sprintf("%+d", p.Sub(l.h.Conns[r.Conn].Ends[r.From.Other()&1].QP.SendPSN))
	}
	switch m := m.(type) {
	case *roce.REQ:
		return fmt.Sprintf(" REQ qpn=%#x start=%s", m.QPN, start(m.StartingPSN))
	case *roce.REP:
		return fmt.Sprintf(" REP qpn=%#x start=%s", m.QPN, start(m.StartingPSN))
	}
	return " " + h.Attribute.String()
}

// start returns the first request PSN of the half-conversation that p belongs to; zero when the connection is unknown.
func (l *drawing) start(r *trace.Record, p *roce.Packet) psn.PSN {
	if r.Conn < 0 || r.Conn >= len(l.h.Conns) || p.DestQP == roce.CMQueuePair {
		return 0
	}
	requester := r.From
	if p.ToRequester() {
		requester = r.From.Other()
	}
	return l.h.Conns[r.Conn].Ends[requester&1].QP.SendPSN
}

// events draws the events that lie in the window.
func (l *drawing) events(list []trace.Event, from, to vtime.Time) {
	for i := range list {
		e := &list[i]
		wanted := l.opt.AllEvents && e.Kind < trace.Idle || slices.Contains([]trace.EventKind{trace.CQE, trace.Recv,
			trace.Timeout, trace.Fatal, trace.Declared, trace.Lost, trace.Refused}, e.Kind)
		if !wanted || !l.shows(e.Conn) || e.At < from || e.At > to {
			continue
		}
		l.rungs = append(l.rungs, rung{event: "event " + e.At.Micros() + " " + l.reporter(e) + " " + l.eventText(e)})
	}
}

// reporter returns the name of the end that reported an event: a side, or the box in its place on a hop.
func (l *drawing) reporter(e *trace.Event) string {
	if side, ok := l.h.On(e.Conn).Box(); ok && side == e.Side {
		return "box"
	}
	return e.Side.String()
}

// eventText returns the text of an event, with the numbers that identify it.
func (l *drawing) eventText(e *trace.Event) string {
	b := &e.Body
	switch e.Kind {
	case trace.CQE, trace.Recv, trace.Fatal:
		s := b.Kind.String()
		if e.Kind != trace.Fatal {
			s += " wr=" + strconv.FormatUint(b.ID, 10)
		}
		if b.Status != engine.StatusSuccess {
			s += " " + b.Status.String()
		}
		return s
	case trace.Declared:
		s := fmt.Sprintf("%v msg=%d va=%#x len=%d peer=%d", b.Kind, b.ID, e.VA, e.Len, b.Peer)
		if b.More {
			s += " more"
		}
		return s
	case trace.Lost:
		return fmt.Sprintf("%v wr=%d len=%d peer=%d", b.Kind, b.ID, b.Len, b.Peer)
	case trace.Refused:
		return fmt.Sprintf("%v %v peer=%d", b.Kind, b.Status, b.Peer)
	case trace.Timeout:
		return b.Kind.String() + " psn=" + l.eventPSN(e)
	case trace.Post:
		return fmt.Sprintf("post wr=%d %v len=%d", b.ID, b.Op, e.Len)
	case trace.Receive:
		return fmt.Sprintf("receive wr=%d len=%d", b.ID, e.Len)
	case trace.Store:
		return fmt.Sprintf("store va=%#x len=%d", e.VA, e.Len)
	case trace.Changed:
		return fmt.Sprintf("changed va=%#x len=%d", e.VA, e.Len)
	case trace.Timer:
		if e.Deadline == vtime.Never {
			return "timer off"
		}
		return "timer " + e.Deadline.Micros()
	}
	return fmt.Sprintf("%v %s=%d", e.Kind, e.Name, e.Value)
}

// eventPSN prints the PSN of an event of a requester, relative to the start of its requests.
func (l *drawing) eventPSN(e *trace.Event) string {
	if l.opt.Absolute || e.Conn < 0 || e.Conn >= len(l.h.Conns) {
		return e.Body.PSN.String()
	}
	d := e.Body.PSN.Sub(l.h.Conns[e.Conn].Ends[e.Side&1].QP.SendPSN)
	return fmt.Sprintf("%+d", d)
}

// text returns the drawing of all rungs.
func (l *drawing) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%9s %9s  %-*s", "sent", "recv", l.width+1, trace.A)
	if l.h.Divided() {
		fmt.Fprintf(&b, "%-*s", l.width+1, "box")
	}
	fmt.Fprintln(&b, trace.B)
	for i := range l.rungs {
		g := &l.rungs[i]
		if g.event != "" {
			b.WriteString(g.event)
		} else {
			fmt.Fprintf(&b, "%9s %9s  |%s|", g.sent, g.recv, g.across(l.width))
		}
		if g.note != "" {
			b.WriteString("  " + g.note)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// across draws the packet on its hop, and leaves the other hop blank.
func (g *rung) across(width int) string {
	blank := strings.Repeat(" ", width)
	switch g.hop {
	case trace.LANHop:
		return g.arrow(width) + "|" + blank
	case trace.WANHop:
		return blank + "|" + g.arrow(width)
	}
	return g.arrow(width)
}

// arrow draws the packet into width columns, from left to right for A and from right to left for B.
func (g *rung) arrow(width int) string {
	tail, head, blankTail, blankHead := "--", ">", "", ""
	if g.changed {
		head = "*>"
	}
	if g.lost {
		head, blankHead = "X", strings.Repeat(" ", missGap)
	}
	if g.made {
		tail, blankTail = "X-", strings.Repeat(" ", missGap)
	}
	fill := width - len(blankTail) - len(tail) - 2 - utf8.RuneCountInString(g.text) - len(head) - len(blankHead)
	line := strings.Repeat("-", max(fill, 0))
	if g.from == trace.A {
		return blankTail + tail + " " + g.text + " " + line + head + blankHead
	}
	head = strings.NewReplacer("*>", "<*", ">", "<").Replace(head)
	if g.made {
		tail = "-X"
	}
	return blankHead + head + line + " " + g.text + " " + tail + blankTail
}
