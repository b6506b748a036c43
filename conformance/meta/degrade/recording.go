// Package degrade takes evidence away from a run: it looks at it from fewer or other places (View), and harms what was
// recorded there as captures are harmed everywhere (Harm). All are pure functions, from what passed on a path to a
// recording and from a recording to a recording; what is random is a function of a seed. What is left is a file as
// another program would have written it (Recording.File), which knows no attribute of a QP and no name of an
// implementation.
//
// A verdict of FAIL is a proof only if no such loss of evidence can bring one about.
package degrade

import (
	"cmp"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Frame is a frame as a tap recorded it.
type Frame struct {
	At   vtime.Time
	Raw  []byte // from the Ethernet header; shared by recordings and never changed
	Kept int    // bytes of Raw in the file
	From trace.Side
	Out  bool // it left the port of the tap
}

// Recording is what was recorded of a path.
type Recording struct {
	Taps    [][]Frame // the frames of each tap, in the order of its file
	Place   [2]bool   // which ports have one, as trace.Header.Taps
	Between bool      // the one tap is at neither
	Missed  []uint64  // by tap: frames that passed it and that its tool could not take; nil is none
	Form    Form
}

// each returns the recording with the frames of every tap as f makes them; f may not change those that it is given.
func (r Recording) each(f func(tap int, frames []Frame) []Frame) Recording {
	taps := make([][]Frame, len(r.Taps))
	for i := range taps {
		taps[i] = f(i, r.Taps[i])
	}
	r.Taps = taps
	return r
}

// misses returns the recording without some frames, which its tools know to have missed.
func (r Recording) misses(drop func(*Frame) bool) Recording {
	left := r.without(drop)
	left.Missed = make([]uint64, len(r.Taps))
	for tap := range r.Taps {
		left.Missed[tap] = uint64(len(r.Taps[tap]) - len(left.Taps[tap]))
	}
	return left
}

// Lacks reports whether frames that passed a tap are missing.
func (r Recording) Lacks() bool {
	return slices.ContainsFunc(r.Missed, func(n uint64) bool { return n > 0 })
}

// Conceals reports whether a damaged frame is cut, so that nothing shows that it is damaged: who reads the file
// takes it for sound.
func (r Recording) Conceals() bool {
	for _, tap := range r.Taps {
		for _, f := range tap {
			var h roce.Frame
			if f.Kept < len(f.Raw) && (h.Decode(f.Raw) != nil || !h.ICRCOK(f.Raw)) {
				return true
			}
		}
	}
	return false
}

// span returns when the first and the last frame of all taps were recorded.
func (r Recording) span() (first, last vtime.Time) {
	first = vtime.Never
	for _, tap := range r.Taps {
		for _, f := range tap {
			first, last = min(first, f.At), max(last, f.At)
		}
	}
	return first, last
}

// Wire is all that passed on one path between two ports.
type Wire struct {
	Header trace.Header // of the connections of this path alone
	// the harness made a packet itself, or another of one, so that a tap takes it for that of an endpoint
	Forged bool

	packets []passed
}

// passed is a packet with the times at which it passed the ports; Never where it did not.
type passed struct {
	sent, recv vtime.Time
	from       trace.Side
	raw, got   []byte // as sent, and as received
	twin       bool   // the link made it of another
}

// Wires returns the paths of a trace with header h: one, or the hops of a path with a box in it. Records must have
// their bytes.
func Wires(h trace.Header, play func(trace.Sink) error) ([]*Wire, error) {
	c := &collector{header: &h}
	hops := []trace.Hop{trace.Whole}
	if h.Divided() {
		hops = []trace.Hop{trace.LANHop, trace.WANHop}
	}
	for _, hop := range hops {
		own := h
		own.Conns = slices.DeleteFunc(slices.Clone(h.Conns), func(c trace.Conn) bool { return c.Hop != hop })
		own.Taps, own.Between, own.Bytes, own.Reports = [2]bool{}, false, true, 0
		for i := range own.Conns {
			own.Conns[i].Hop = trace.Whole
			own.Conns[i].Ends[0].Reports, own.Conns[i].Ends[1].Reports = 0, 0
		}
		c.wires[hop] = &Wire{Header: own}
	}
	if err := play(c); err != nil {
		return nil, err
	}
	var list []*Wire
	for _, hop := range hops {
		list = append(list, c.wires[hop])
	}
	return list, nil
}

// collector is the trace.Sink that fills wires.
type collector struct {
	header *trace.Header
	wires  [trace.WANHop + 1]*Wire
}

// Packet implements trace.Sink.
func (c *collector) Packet(r *trace.Record) {
	w := c.wires[c.header.On(r.Conn)]
	if w == nil { // it belongs to no connection, and so to no hop that is known
		w = c.wires[trace.WANHop]
	}
	p := passed{sent: r.Sent, recv: r.Recv, from: r.From, raw: slices.Clone(r.Raw), twin: r.Copy}
	p.got = p.raw
	if r.Changed != nil {
		p.got = slices.Clone(r.Changed.Raw)
	}
	w.Forged = w.Forged || forged(r)
	w.packets = append(w.packets, p)
}

// forged reports a packet that no tap can tell from that of an endpoint, and that none sent like this.
func forged(r *trace.Record) bool {
	c := r.Changed
	if r.Fate == trace.Injected || c == nil || c.ICRC == trace.Bad {
		return r.Fate == trace.Injected
	}
	sent, got := &r.Packet, &c.Packet
	return c.Sum != r.Sum || sent.Opcode != got.Opcode || sent.PSN != got.PSN || sent.DestQP != got.DestQP ||
		sent.AETH != got.AETH ||
		sent.RETH != got.RETH || sent.AckReq != got.AckReq
}

// Event implements trace.Sink: what endpoints know no tap shows.
func (c *collector) Event(*trace.Event) {}

// End implements trace.Sink.
func (c *collector) End(vtime.Time) {}

// inOrder sorts frames by their times, those of one time as they come.
func inOrder(frames []Frame) []Frame {
	slices.SortStableFunc(frames, func(a, b Frame) int { return cmp.Compare(a.At, b.At) })
	return frames
}
