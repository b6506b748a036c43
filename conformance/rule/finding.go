package rule

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Blame is the party that broke a rule.
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
	Side  string     `json:"side,omitempty"` // the end to blame, "A" or "B"; empty when neither or unknown
	Conn  int        `json:"conn"`
	At    vtime.Time `json:"at_ps"`
	// index of the packet record that shows the violation; NoRecord when an event or an absence shows it, and JSON then
	// has no "record"
	Record uint64 `json:"-"`
	// the packet of that record, its PSN relative to the first: "A>B WRITE_ONLY psn=+2"; "" when unknown
	Packet string `json:"packet,omitempty"`
	Text   string `json:"text"` // the expectation and the observation
}

// NoRecord is Finding.Record when no packet shows the violation.
const NoRecord = ^uint64(0)

// plain is a Finding without methods, so that its JSON is that of its fields.
type plain Finding

// recorded is the JSON of a finding.
type recorded struct {
	*plain
	Record *uint64 `json:"record,omitempty"`
}

// MarshalJSON leaves out a Record that there is not.
func (f Finding) MarshalJSON() ([]byte, error) {
	r := recorded{plain: (*plain)(&f)}
	if f.Record != NoRecord {
		r.Record = &f.Record
	}
	return json.Marshal(r)
}

// UnmarshalJSON sets Record to NoRecord where JSON has none.
func (f *Finding) UnmarshalJSON(b []byte) error {
	f.Record = NoRecord
	return json.Unmarshal(b, &recorded{plain: (*plain)(f), Record: &f.Record})
}

// Line returns the finding as one line: the packet that shows it, and the Text.
func (f *Finding) Line() string {
	switch {
	case f.Record == NoRecord:
		return f.Text
	case f.Packet == "":
		return fmt.Sprintf("packet %d: %s", f.Record, f.Text)
	}
	return fmt.Sprintf("packet %d, %s: %s", f.Record, f.Packet, f.Text)
}

// Explain returns the command that explains the rule with an ID.
func Explain(id string) string { return "gauntlet explain " + id }

// More returns the number of violations that Findings leaves out.
func (v *Verdict) More() int { return max(0, v.Total-len(v.Findings)) }

// seen holds the names of the latest packets, so that a finding can name a packet seen earlier.
type seen struct{ ring []glimpse } // its length is a power of two

// glimpse holds the fields of a packet that name it.
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

// seenLimit is the number of packets remembered: enough for a line of 25 Gb/s during Patience.
const seenLimit = 1 << 15

// note stores a packet in the ring, over the oldest one. The ring grows with the trace up to seenLimit.
func (r *seen) note(t *trace.Sight) {
	if size := max(64, len(r.ring)); t.Index >= uint64(len(r.ring)) && len(r.ring) < seenLimit {
		for uint64(size) <= t.Index && size < seenLimit {
			size *= 2
		}
		old := r.ring
		r.ring = make([]glimpse, size)
		for _, g := range old {
			if g.known {
				r.ring[g.record&uint64(size-1)] = g
			}
		}
	}
	g := &r.ring[t.Index&uint64(len(r.ring)-1)]
	if g.known && g.record > t.Index {
		return
	}
	p := t.Pkt
	*g = glimpse{t.Index, t.Rec.From, true, t.Rec.Defect != "", p.Opcode, p.AETH.Syndrome, p.Repair.Type, p.Number()}
}

// name returns direction, opcode and PSN of a record as text, the PSN relative to start, and the PSN itself; "" when
// the ring no longer holds the record.
func (r *seen) name(record uint64, start psn.PSN) (text string, number []psn.PSN) {
	if r == nil || len(r.ring) == 0 || record == NoRecord {
		return "", nil
	}
	g := &r.ring[record&uint64(len(r.ring)-1)]
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

// wrapped returns a note that says which relative PSN is PSN 0, when the PSNs of a finding (the packet's and those that
// the text names) lie on both sides of the wrap; "" otherwise.
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

// named returns the PSNs that a text names in the form of Rel. It skips psn=-8 to psn=-1: a PSN just before the first
// means that there is none.
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

// Maker is how far a sight proves the contents that the sender gave to a packet.
type Maker uint8

// The degrees. The ICRC covers every field of a packet except the variant ones, which the network may rewrite. A right
// ICRC therefore proves the covered fields at any tap. A packet with a wrong ICRC may have been damaged in any field.
const (
	Elsewhere Maker = iota // this sight proves nothing: the sender's tap shows the packet, or the harness made it
	AtPort                 // the sight is at the sender's port
	// the only sight of the packet, elsewhere and with a right ICRC: only variant fields may have changed
	Sealed
	// the only sight of the packet, with an ICRC that is wrong or was not captured: any field may have changed
	Doubtful
)

// Maker returns the degree of a sight.
func (c *Context) Maker(s *Sight) Maker { return makerOf(c.Conversation, s, c.have) }

// makerOf returns the degree of a sight in a trace that shows have.
func makerOf(c *Conversation, s *Sight, have Vantage) Maker {
	switch {
	case s.Out && !c.Between && !(c.Inferred && s.ICRC == trace.Bad):
		return AtPort
	case !s.Out && (s.Recovered || shownBySender(s, have)):
		return Elsewhere
	case s.ICRC == trace.Good, s.ICRC == trace.Unchecked && s.Defect() == "" && have&Bytes == 0:
		return Sealed
	}
	return Doubtful
}

// shownBySender reports whether the tap at the sender's port shows a packet that arrives, or the harness made it. A tap
// that a doubt takes from a rule is not in have, and shows nothing.
func shownBySender(s *Sight, have Vantage) bool {
	sender := TapRequester
	if s.Point.AtRequester() {
		sender = TapResponder
	}
	known := s.Rec.Sent != vtime.Never || s.Rec.Fate != trace.Unknown
	return known && (have&sender != 0 || s.Rec.Fate != trace.Delivered)
}

// seen returns the classes of sights that a rule is called for: Sees and, for a rule of Frames without a tap at the
// sender's port, the same packets at the port where they arrive.
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
			sees = sees&^way.out | way.in
		}
	}
	return sees
}
