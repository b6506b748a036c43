package dut

import (
	"fmt"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Ending is the end of a tool's work, as far as it was observed.
type Ending struct {
	Done vtime.Time // time of the tool's message that all work was done; vtime.Never without one
	Gone vtime.Time // time by which the tool's process had ended by itself; vtime.Never when it had not
	Said string     // output of the tool

	End        vtime.Time // end of the trace
	Changed    []Range    // ranges of its region (see Tool.region) that changed between the start and the end
	Compared   bool       // the region was read at the start and the end, so Changed is complete
	Violations int64      // Q_Key violations; Unread when they could not be read
	// Completed is the status of each completion of the tool's QP, by libibverbs' numbers, in order; empty when
	// completions were not observed.
	Completed []int
}

// Range is a range of a tool's memory.
type Range struct {
	VA  uint64
	Len uint32
}

// Unread is the value of a counter that could not be read.
const Unread = -1

// Silent returns the reports of the tool that could not be read in this run.
func (e *Ending) Silent() (r trace.Reports) {
	if !e.Compared {
		r |= trace.ReportChanges
	}
	if e.Violations == Unread {
		r |= trace.ReportDatagrams
	}
	if len(e.Completed) == 0 {
		r |= trace.ReportFlushed
	}
	return r
}

// Tells returns the reports that the tool provides besides the packets: from its command line, from its output at the
// end, and from actions that it takes only after a completion. Only rping shows the order in which its requests
// complete. No tool reports the completions after a failed one; the kernel does, for a perftest that has posted all its
// requests before the first can have failed. These all have the same ID, so their order is not known.
func (t *Tool) Tells() trace.Reports {
	switch t.kind.(type) {
	case rping:
		if t.Active {
			return trace.ReportReceived | trace.ReportChecked
		}
		return trace.ReportDone | trace.ReportOrdered
	case udPingpong:
		return trace.ReportDatagrams
	case perftest, perftestCM:
		switch {
		case t.turns != "":
			return 0
		case t.Active && t.Depth >= t.Count:
			return trace.ReportDone | trace.ReportFlushed
		case t.Active:
			return trace.ReportDone
		}
		if t.Op.TakesReceive() {
			return trace.ReportPosted | trace.ReportRegions
		}
		return trace.ReportPosted | trace.ReportRegions | trace.ReportChanges
	}
	return 0
}

// Told returns the events of the tool's reports, in no order, except those that a Witness adds. s is the Spec of the
// run.
func (t *Tool) Told(s *scenario.Spec, side trace.Side, e Ending) (events []trace.Event) {
	told := t.Tells()
	switch {
	case told&trace.ReportOrdered != 0:
		events = t.printed(e)
	case told&trace.ReportDone != 0:
		events = t.completions(s, side, e)
	}
	if told&trace.ReportPosted != 0 {
		events = append(events, t.receives(e)...)
	}
	if told&trace.ReportRegions != 0 {
		events = append(events, t.region(s.Devices[side])...)
	}
	if told&trace.ReportDatagrams != 0 {
		events = append(events, trace.Event{Kind: trace.Probe, Name: "qkey", Value: datagramKey},
			trace.Event{At: e.End, Kind: trace.Count, Name: "qkey", Value: e.Violations})
	}
	for _, c := range e.Changed {
		events = append(events, trace.Event{At: e.End, Kind: trace.Changed, VA: c.VA, Len: c.Len})
	}
	for i := range events {
		events[i].Side = side
	}
	return events
}

// completions returns the completions as the end of the work shows them: all requests had completed by then, or the
// first that had not completed has failed; and the completions that were observed at that time.
func (t *Tool) completions(s *scenario.Spec, side trace.Side, e Ending) (events []trace.Event) {
	q := s.QP[side]
	packets := max(1, (int(t.Message)+q.MTU-1)/q.MTU)
	body := func(i int) engine.Event {
		return engine.Event{ID: uint64(i), Op: t.Op, Len: uint32(t.Message), PSN: q.SendPSN.Add((i+1)*packets - 1)}
	}
	for i := range t.Count {
		b := body(i)
		events = append(events, trace.Event{At: vtime.Time(Lead), Kind: trace.Post, Body: b, Len: b.Len})
		if e.Done != vtime.Never {
			events = append(events, trace.Event{At: e.Done, Kind: trace.CQE, Body: b})
		}
	}
	status, failed := complaint(e.Said)
	switch {
	case !failed || e.Done != vtime.Never || e.Gone == vtime.Never:
	case len(e.Completed) == 0:
		events = append(events, trace.Event{At: e.Gone, Kind: trace.CQE, Body: engine.Event{Op: t.Op, Status: status}})
	default:
		for i, number := range e.Completed {
			b := body(i)
			b.Status = statusOf(number)
			events = append(events, trace.Event{At: e.Gone, Kind: trace.CQE, Body: b})
		}
	}
	return events
}

// statusOf returns the engine's status for a status of libibverbs; an unknown one is reported as an error of the device
// itself.
func statusOf(number int) engine.Status {
	if s, ok := statuses[number]; ok {
		return s
	}
	return engine.StatusLocalProtection
}

// postedReceives is the number of receives that perftest keeps posted for SENDs.
const postedReceives = 512

// receives returns the receives that perftest posts before the exchange of parameters: none except for SENDs. Perftest
// posts another for each that completes, which is not observed; it is assumed to have enough even when it was
// configured with few. A receive whose SEND was too long is the last.
func (t *Tool) receives(e Ending) (events []trace.Event) {
	if !t.Op.TakesReceive() {
		return nil
	}
	for i := range postedReceives {
		events = append(events, trace.Event{Kind: trace.Receive, Body: engine.Event{ID: uint64(i)},
			Len: uint32(t.Message)})
	}
	if status, failed := complaint(e.Said); failed && e.Gone != vtime.Never {
		events = append(events, trace.Event{At: e.Gone, Kind: trace.Recv, Body: engine.Event{Status: status}})
	}
	return events
}

// Extent returns the size of the part of perftest's memory that region reports, in bytes.
func (t *Tool) Extent() int {
	const page, line = 4096, 64
	return (max(int(t.Message), page) + line - 1) / line * line
}

// region reports the part of perftest's memory that starts at the announced address: one message, or a page when that
// is larger. Its rights are those of the single operation that it serves.
func (t *Tool) region(d scenario.Device) (events []trace.Event) {
	rights := map[engine.Op]engine.Access{engine.OpWrite: engine.RemoteWrite, engine.OpRead: engine.RemoteRead}
	size := int64(t.Extent())
	for _, p := range []struct {
		name  string
		value int64
	}{{"mr_rkey", int64(d.Key)}, {"mr_va", int64(d.Buffer)}, {"mr_len", size},
		{"mr_access", int64(rights[t.Op] | engine.LocalWrite)}} {
		events = append(events, trace.Event{Kind: trace.Probe, Name: p.name, Value: p.value})
	}
	return events
}

// statuses maps status numbers of libibverbs to the statuses that an engine has.
var statuses = map[int]engine.Status{0: engine.StatusSuccess, 1: engine.StatusLocalLength,
	4: engine.StatusLocalProtection, 5: engine.StatusFlushed,
	9: engine.StatusRemoteInvalid, 10: engine.StatusRemoteAccess, 11: engine.StatusRemoteOp,
	12: engine.StatusRetryExceeded,
	13: engine.StatusRNRRetryExceeded}

// complaint returns the status of the first failed completion in the output of a tool: "Failed status 12: wr_id 0" of
// perftest, "cq completion failed status 12" of rping.
func complaint(said string) (s engine.Status, ok bool) {
	const words = "ailed status "
	_, rest, found := strings.Cut(said, words)
	var number int
	if n, _ := fmt.Sscanf(rest, "%d", &number); !found || n != 1 {
		return 0, false
	}
	s, ok = statuses[number]
	return s, ok
}

// Witness infers from the packets of a tool the events that must have preceded them. The rping that begins SENDs again
// only when the message that it waits for has arrived with the right length, and begins a new round only when it has
// found in its memory the data that it offered in the previous round. The ibv_ud_pingpong that serves SENDs when a
// datagram has been delivered. A nil Witness infers nothing.
type Witness struct {
	side    trace.Side
	sends   int
	next    func(*trace.Record) bool // reports a SEND that was not sent before
	answers bool                     // each SEND answers a datagram that was received
}

// Witness returns the witness of the tool; nil when its packets imply nothing.
func (t *Tool) Witness(s *scenario.Spec, side trace.Side) *Witness {
	if t.Datagrams() {
		return &Witness{side: side, answers: true,
			next: func(r *trace.Record) bool { return r.From == side && r.Packet.Opcode.Class() == roce.ClassUD }}
	}
	if t.Tells()&trace.ReportReceived == 0 {
		return nil
	}
	expected := s.QP[side].SendPSN
	return &Witness{side: side, next: func(r *trace.Record) bool {
		if r.From != side || r.Packet.Opcode != roce.SendOnly || r.Packet.PSN.Less(expected) {
			return false
		}
		expected = r.Packet.PSN.Next()
		return true
	}}
}

// Begin returns the events before the first packet: one posted receive.
func (w *Witness) Begin() []trace.Event {
	if w == nil || w.answers {
		return nil
	}
	return []trace.Event{{Kind: trace.Receive, Side: w.side, Len: pingLen}}
}

// Packet returns the events that a packet implies. They have the packet's time; they happened no later.
func (w *Witness) Packet(r *trace.Record) []trace.Event {
	if w == nil || !w.next(r) {
		return nil
	}
	switch w.sends++; {
	case w.answers:
		return []trace.Event{{At: r.Time(), Side: w.side, Kind: trace.Recv, Body: engine.Event{ID: uint64(w.sends - 1),
			Len: uint32(r.Packet.Len)}}}
	case w.sends == 1:
		return nil // the SEND that begins implies nothing
	}
	return w.received(r.Time())
}

// End returns the events that the end of the tool implies: it compares memory after its last round as after any other.
func (w *Witness) End(e Ending) []trace.Event {
	if w == nil || w.answers || w.sends == 0 || e.Gone == vtime.Never {
		return nil
	}
	if strings.Contains(e.Said, "data mismatch") {
		return []trace.Event{{At: e.Gone, Side: w.side, Kind: trace.Memory, Name: "received", Value: 1}}
	}
	if _, failed := complaint(e.Said); failed || strings.Contains(e.Said, "rror") {
		return nil
	}
	w.sends++
	return w.received(e.Gone)
}

// received returns the events of a receive that has completed, and of the next one posted. Every second receive ends a
// round.
func (w *Witness) received(at vtime.Time) (events []trace.Event) {
	if w.sends%2 == 1 {
		events = append(events, trace.Event{Kind: trace.Memory, Name: "received"})
	}
	n := uint64(w.sends - 2)
	events = append(events, trace.Event{Kind: trace.Recv, Body: engine.Event{ID: n, Len: pingLen}},
		trace.Event{Kind: trace.Receive, Body: engine.Event{ID: n + 1}, Len: pingLen})
	for i := range events {
		events[i].At, events[i].Side = at, w.side
	}
	return events
}

// pingLen is the length of rping's SENDs.
const pingLen = 16
