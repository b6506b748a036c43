package rule

import (
	"fmt"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// A rule with Device set is not judged in half-conversations. It has one check for the device of each end that reports
// its counters. The check is called for all packets that pass the port of that end, of any connection or none (Sight.Of
// is their half-conversation), and for the events of that end. In its Context, Req is the end and Index is -1.
// Sight.Point is relative to the half-conversation of the packet.

// AllSights is every packet that passes a port, once.
const AllSights = Requests | Responses | ReadAcks | Foreign

// devices holds, by side, all traffic of the side's device in the form of a half-conversation; nil for a device that
// does not report its counters.
type devices [2]*half

// meet starts the checks of devices. A path divided by a box has no counters.
func (all *devices) meet(j *Judge) {
	if j.header.Divided() || !slices.ContainsFunc(j.rules, func(r Rule) bool { return r.Device }) {
		return
	}
	for side := range all {
		if !counts(&j.header, trace.Side(side)) {
			continue
		}
		d := &half{}
		d.conv.reset(-1, trace.Side(side), &trace.Conn{}, &[2]Port{})
		d.conv.ofDevice, d.conv.Between = true, j.header.Between
		all[side] = d
		j.start(d)
	}
}

// counts reports whether a side reports the counters of its device.
func counts(h *trace.Header, side trace.Side) bool {
	return h.Reports&trace.ReportCounters != 0 ||
		slices.ContainsFunc(h.Conns, func(c trace.Conn) bool { return c.Ends[side].Reports&trace.ReportCounters != 0 })
}

// atDevice returns the vantage points that a trace gives on the device of a side.
func atDevice(h *trace.Header, side trace.Side) Vantage {
	have := Frames
	if h.Taps[side] {
		have |= AtDevice
	}
	if h.Bytes {
		have |= Bytes
	}
	return have
}

// anyDoubt returns the doubts about the evidence on all connections together, because a device's counters cover all of
// them.
func anyDoubt(h *trace.Header) (d trace.Doubt) {
	for i := range h.Conns {
		for _, of := range h.Conns[i].Doubts {
			if of != nil {
				d.Fails |= of.Fails
				d.Why = of.Why
			}
		}
	}
	return d
}

// show shows a sight of half-conversation h to the check of the device at whose port it was seen.
func (all *devices) show(h *half, list int, s *Sight) {
	if d := all[s.Tap&1]; d != nil {
		s.Of = &h.conv
		d.show(list, s, AnyKind)
	}
}

// tell passes an event to the check of the device at the event's side.
func (all *devices) tell(e *trace.Event) {
	if d := all[e.Side&1]; d != nil {
		d.tell(d.events, e)
	}
}

// finish ends the checks.
func (all *devices) finish(at vtime.Time) {
	for _, d := range all {
		if d != nil {
			d.finish(at)
		}
	}
}

// Count is the increase of a device's counter, and the bounds that the trace gives for it.
type Count struct {
	Side  string `json:"side"` // "A" or "B"
	Name  string `json:"name"` // "hw/duplicate_request"
	Value int64  `json:"value"`
	Low   int64  `json:"low"`  // least increase that the trace allows
	High  int64  `json:"high"` // greatest increase that the trace allows; Unbounded when unknown
}

// Unbounded is the value of Count.High for a counter whose increase has no known upper bound.
const Unbounded = -1

// Right reports whether Low <= Value <= High.
func (n *Count) Right() bool { return n.Value >= n.Low && (n.High == Unbounded || n.Value <= n.High) }

// Report records in the check of a device that the counter was compared with the trace, and fails the rule unless the
// value is right. what names the events that the counter counts, and where that is documented.
func (n Count) Report(c *Context, what string) {
	n.Side = c.Req.String()
	c.counts = append(c.counts, n)
	c.Met()
	if !n.Right() {
		c.Fail(Requester, fmt.Sprintf("%s counts %d, want %s (%s)", n.Name, n.Value, n.want(), what))
	}
}

// want returns the bounds as text: "3", "1 to 3", "3 or more".
func (n *Count) want() string {
	switch n.High {
	case n.Low:
		return fmt.Sprint(n.Low)
	case Unbounded:
		return fmt.Sprintf("%d or more", n.Low)
	}
	return fmt.Sprintf("%d to %d", n.Low, n.High)
}
