// Package degrade takes evidence away from a run: it records the run from fewer or other places (View), and damages the
// recording as captures are damaged in practice (Harm). A View is a pure function from the packets on a path to a
// recording, a Harm one from a recording to a recording; randomness comes from a seed. The result is a capture file as
// another program would write it (Recording.File), without attributes of QPs and names of implementations.
//
// A FAIL is a proof only if no such loss of evidence can cause one.
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

// Recording holds the frames that taps recorded on a path.
type Recording struct {
	Taps    [][]Frame // the frames of each tap, in the order of its file
	Place   [2]bool   // which ports have a tap, as in trace.Header.Taps
	Between bool      // the only tap is between the ports
	Missed  []uint64  // by tap: frames that passed the tap and that its program did not record, but counted; nil is none
	Form    Form
}

// each returns the recording with the frames of every tap replaced by the result of f, which must not change its
// argument.
func (r Recording) each(f func(tap int, frames []Frame) []Frame) Recording {
	taps := make([][]Frame, len(r.Taps))
	for i := range taps {
		taps[i] = f(i, r.Taps[i])
	}
	r.Taps = taps
	return r
}

// misses returns the recording without some frames, which Missed counts.
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

// Conceals reports whether a damaged frame is cut, so that a reader of the file cannot tell that it is damaged.
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

// span returns the times of the first and the last frame of all taps.
func (r Recording) span() (first, last vtime.Time) {
	first = vtime.Never
	for _, tap := range r.Taps {
		for _, f := range tap {
			first, last = min(first, f.At), max(last, f.At)
		}
	}
	return first, last
}

// Wire holds the packets that passed on one path between two ports.
type Wire struct {
	Header trace.Header // of the connections of this path alone
	// the harness made or changed a packet so that a tap takes it for a packet of an endpoint
	Forged bool
	Long   bool // its frames have more than wireLimit bytes; packets are missing

	packets []passed
	bytes   int // of the frames
}

// wireLimit bounds the bytes of a wire, of which several recordings are kept in memory at a time.
const wireLimit = 256 << 20

// passed is a packet with the times at which it passed the ports; Never for a port that it did not pass.
type passed struct {
	sent, recv vtime.Time
	from       trace.Side
	raw, got   []byte // as sent, and as received
	twin       bool   // it is a copy that the link made
}

// Wires returns the paths of a trace with header h: one, or the two hops of a divided path. Records must have their
// bytes.
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
	if w == nil { // a packet of no connection, whose hop is unknown
		w = c.wires[trace.WANHop]
	}
	p := passed{sent: r.Sent, recv: r.Recv, from: r.From, raw: slices.Clone(r.Raw), twin: r.Copy}
	p.got = p.raw
	if r.Changed != nil {
		p.got = slices.Clone(r.Changed.Raw)
	}
	w.Forged = w.Forged || forged(r)
	if w.bytes += len(p.raw); w.bytes > wireLimit {
		w.Long, w.packets = true, nil
		return
	}
	w.packets = append(w.packets, p)
}

// forged reports whether no endpoint sent the packet in this form although it looks like a packet of an endpoint.
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

// Event implements trace.Sink; taps do not show events.
func (c *collector) Event(*trace.Event) {}

// End implements trace.Sink.
func (c *collector) End(vtime.Time) {}

// inOrder sorts frames by time; frames of equal times keep their order.
func inOrder(frames []Frame) []Frame {
	slices.SortStableFunc(frames, func(a, b Frame) int { return cmp.Compare(a.At, b.At) })
	return frames
}
