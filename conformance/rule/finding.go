package rule

import (
	"fmt"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Blame says who broke a rule.
type Blame string

// The parties.
const (
	Requester Blame = "requester"
	Responder Blame = "responder"
	Channel   Blame = "channel"
	Capture   Blame = "capture"
	Harness   Blame = "harness"
)

// Finding is one violation.
type Finding struct {
	Rule  string     `json:"rule"`
	Blame Blame      `json:"blame"`
	Side  string     `json:"side,omitempty"` // the end that is to blame, "A" or "B"; empty when it is neither
	Conn  int        `json:"conn"`
	At    vtime.Time `json:"at_ps"`
	// index of the packet record that shows it; NoRecord when an event or an absence does
	Record uint64 `json:"record"`
	// what that record is of, PSNs relative to the first: "A>B WRITE_ONLY psn=+2"; "" when unknown
	Packet string `json:"packet,omitempty"`
	Text   string `json:"text"` // what was expected and what was seen
}

// NoRecord is Finding.Record when no packet shows the violation.
const NoRecord = ^uint64(0)

// Line is the finding in a line: the packet that shows it, what was expected and what was seen.
func (f *Finding) Line() string {
	switch {
	case f.Record == NoRecord:
		return f.Text
	case f.Packet == "":
		return fmt.Sprintf("packet %d: %s", f.Record, f.Text)
	}
	return fmt.Sprintf("packet %d, %s: %s", f.Record, f.Packet, f.Text)
}

// Explain is the command that explains the rule with an ID.
func Explain(id string) string { return "gauntlet explain " + id }

// More is how many violations were found beside those of Findings.
func (v *Verdict) More() int { return max(0, v.Total-len(v.Findings)) }

// seen remembers the latest packets, so that a finding can name one that came before what shows it.
type seen struct{ ring []glimpse }

// glimpse is as much of a packet as names it.
type glimpse struct {
	record   uint64
	from     trace.Side
	known    bool
	defect   bool
	opcode   roce.Opcode
	syndrome roce.Syndrome
	kind     roce.RepairType
	number   psn.PSN
}

// seenLimit is how many packets are remembered: what a line of 25 Gb/s carries while somebody may be silent.
const seenLimit = 1 << 15

// note remembers a packet as it is seen, in the place of one long past. The memory is as large as the trace is long, up
// to the limit.
func (r *seen) note(t *trace.Sight) {
	if size := max(64, len(r.ring)); t.Index >= uint64(len(r.ring)) && len(r.ring) < seenLimit {
		for uint64(size) <= t.Index && size < seenLimit {
			size *= 2
		}
		old := r.ring
		r.ring = make([]glimpse, size)
		for _, g := range old {
			if g.known {
				r.ring[g.record%uint64(size)] = g
			}
		}
	}
	g := &r.ring[t.Index%uint64(len(r.ring))]
	if g.known && g.record > t.Index {
		return
	}
	p := t.Pkt
	*g = glimpse{t.Index, t.Rec.From, true, t.Rec.Defect != "", p.Opcode, p.AETH.Syndrome, p.Repair.Type, p.Number()}
}

// name returns the way and the opcode of a record with its PSN, relative to start, and the PSN itself; "" of one that
// is forgotten.
func (r *seen) name(record uint64, start psn.PSN) (text string, number []psn.PSN) {
	if r == nil || len(r.ring) == 0 || record == NoRecord {
		return "", nil
	}
	g := &r.ring[record%uint64(len(r.ring))]
	if !g.known || g.record != record {
		return "", nil
	}
	way := g.from.String() + ">" + g.from.Other().String() + " "
	switch {
	case g.defect:
		return way + "malformed frame", nil
	case g.opcode.OverIP():
		return way + g.opcode.String(), nil
	}
	var named roce.Packet
	named.Opcode, named.PSN, named.AETH.Syndrome, named.Repair.Type, named.Repair.Base = g.opcode, g.number,
		g.syndrome, g.kind, g.number
	opt := roce.TextOptions{Relative: true, Base: start, Omit: ^(roce.AttrPSN | roce.AttrBase)}
	return way + string(named.AppendText(nil, opt)), []psn.PSN{g.number}
}

// Request names a request by its opcode and PSN, as far as its transmission was seen: "WRITE_MIDDLE psn=+2".
func (c *Context) Request(p psn.PSN) string {
	if t := c.Sent(p); t != nil && t.Times > 0 {
		return t.Opcode.String() + " " + c.Rel(p)
	}
	return c.Rel(p)
}

// wrapped says which PSN is 0 when those of a finding lie on both sides of it: the packet's and those that the text
// names. "" when they do not.
func (c *Context) wrapped(text string, shown []psn.PSN) string {
	if c.Index < 0 || !c.Started {
		return ""
	}
	named := append(c.named(text), shown...)
	low, high, zero := 0, 0, 0
	for _, p := range named {
		low, high, zero = min(low, p.Sub(named[0])), max(high, p.Sub(named[0])), psn.PSN(0).Sub(named[0])
	}
	if low >= zero || zero > high || high-low >= psn.Half/2 {
		return ""
	}
	return " (across the wrap: " + c.Rel(0) + " is PSN 0)"
}

// named returns the PSNs that a text names as Rel prints them. One shortly before the first stands for none.
func (c *Context) named(text string) (list []psn.PSN) {
	const none = -8
	for {
		_, rest, found := strings.Cut(text, "psn=")
		if !found {
			return list
		}
		var d int
		if n, _ := fmt.Sscanf(rest, "%d", &d); n == 1 && (d < none || d >= 0) {
			list = append(list, c.Start.Add(d))
		}
		text = rest
	}
}

// Maker says how well a sight shows what the sender made of a packet.
type Maker uint8

// The degrees. The ICRC covers all of a packet but the fields that the network may rewrite, so one that is right proves
// the others wherever it is seen; what a link did to a packet whose ICRC is not right nobody can tell.
const (
	Elsewhere Maker = iota // the port of the sender is tapped and shows the packet there, or the harness made it
	AtPort                 // this is the port of the sender
	// the only sight of the packet, away from that port and with a right ICRC: only variant fields may have changed
	Sealed
	// the only sight of it, with an ICRC that is wrong or was not captured: it may have been damaged on the way
	Doubtful
)

// Maker returns the degree for a sight.
func (c *Context) Maker(s *Sight) Maker { return makerOf(c.Conversation, s, c.have) }

// makerOf is Maker where a trace shows what have says.
func makerOf(c *Conversation, s *Sight, have Vantage) Maker {
	switch {
	case s.Out && !c.Between:
		return AtPort
	case !s.Out && (s.Recovered || s.Rec.Sent != vtime.Never || s.Rec.Fate != trace.Unknown):
		return Elsewhere
	case s.ICRC == trace.Good, s.ICRC == trace.Unchecked && s.Defect() == "" && have&Bytes == 0:
		return Sealed
	}
	return Doubtful
}

// seen returns the points at which a rule sees packets: those that it asks for and, of a rule of Frames, where packets
// arrive whose sender's port have does not show.
func (r *Rule) seen(h *trace.Header, have Vantage) Class {
	if r.Needs&Frames == 0 || h.Between {
		return r.Sees
	}
	sees := r.Sees
	for _, way := range []struct {
		tap     Vantage
		out, in Class
	}{{TapRequester, RequestOut, RequestIn}, {TapResponder, ResponseOut, ResponseIn},
		{TapRequester, ReadAckOut, ReadAckIn}} {
		if r.Sees&way.out != 0 && have&way.tap == 0 {
			sees |= way.in
		}
	}
	return sees
}
