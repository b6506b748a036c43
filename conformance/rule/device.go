package rule

import (
	"fmt"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// A rule with Device set is not judged in half-conversations. Its check is made for the device of each end that tells
// its counters, and is called for what passes the port of that end, of all connections and of none (Sight.Of says
// which), and for the events of that end. Of its Context, Req is the end and Index is -1. Points are those of the
// half-conversation of the packet.

// AllSights is every packet that passes a port, once.
const AllSights = Requests | Responses | ReadAcks | Foreign

// devices are what the device of each side does, as if it were a half-conversation; nil of one that does not tell its
// counters.
type devices [2]*half

// meet begins the checks of devices. Where a box divides the path nobody has counters.
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

// counts reports whether a side tells what its device counts.
func counts(h *trace.Header, side trace.Side) bool {
	return h.Reports&trace.ReportCounters != 0 ||
		slices.ContainsFunc(h.Conns, func(c trace.Conn) bool { return c.Ends[side].Reports&trace.ReportCounters != 0 })
}

// atDevice is what a trace shows of the device of a side.
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

// anyDoubt is what is wrong with the evidence on any connection: what a device counts is of all of them.
func anyDoubt(h *trace.Header) (d trace.Doubt) {
	for i := range h.Conns {
		for _, of := range h.Conns[i].Doubts {
			if of.Fails != 0 {
				d.Fails |= of.Fails
				d.Why = of.Why
			}
		}
	}
	return d
}

// show shows what a half-conversation has been shown to the device at whose port it was seen.
func (all *devices) show(h *half, list int, s *Sight) {
	if d := all[s.Tap&1]; d != nil {
		s.Of = &h.conv
		d.show(list, s, AnyKind)
	}
}

// tell tells the device of a side what happened there.
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

// Count is by how much a counter of a device has moved, and by how much it must have.
type Count struct {
	Side  string `json:"side"` // "A" or "B"
	Name  string `json:"name"` // "hw/duplicate_request"
	Value int64  `json:"value"`
	Low   int64  `json:"low"`  // at least
	High  int64  `json:"high"` // at most; Unbounded when nobody knows
}

// Unbounded is Count.High where a counter may have moved by any number.
const Unbounded = -1

// Right reports whether the counter moved as it must.
func (n *Count) Right() bool { return n.Value >= n.Low && (n.High == Unbounded || n.Value <= n.High) }

// Report says to a check of a device that the counter was held against the trace: it fails the rule unless it is right.
// What says what it counts, and where that is documented.
func (n Count) Report(c *Context, what string) {
	n.Side = c.Req.String()
	c.counts = append(c.counts, n)
	c.Met()
	if !n.Right() {
		c.Fail(Requester, fmt.Sprintf("%s counts %d, want %s (%s)", n.Name, n.Value, n.Want(), what))
	}
}

// Want is by how much the counter must have moved, in words: "3", "1 to 3", "3 or more".
func (n *Count) Want() string {
	switch n.High {
	case n.Low:
		return fmt.Sprint(n.Low)
	case Unbounded:
		return fmt.Sprintf("%d or more", n.Low)
	}
	return fmt.Sprintf("%d to %d", n.Low, n.High)
}
