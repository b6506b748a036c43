package metrics

import (
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Options is the input that a trace does not have.
type Options struct {
	Rates [2]unit.Rate // line rate of each direction, by sender; 0 is unlimited
	Timed bool         // the run was cut by a duration: Elapsed runs to End
	// Orders is the work of each side by the Spec; zero when there is no Spec.
	Orders [2]Order
	// Ideal returns the completion time of a flow of the given bytes from a side, alone on the link; nil leaves
	// Summary.Slowdown out.
	Ideal func(data trace.Side, bytes uint32) vtime.Duration
}

// Collector measures a trace as it streams by. It is a trace.Viewer; its memory is the packets in flight and a fixed
// amount for distributions and plots.
type Collector struct {
	opts   Options
	header *trace.Header
	halves [][2]*half // by connection and requester; nil until the first packet
	flows  []*flow    // by connection, of those over TCP

	sum       Summary
	wire      int64    // layer-1 bytes of data packets
	carried   [2]int64 // payload delivered, by the side that sent it
	began     bool     // the first packet was sent, at first
	first     vtime.Time
	delivered vtime.Time // last byte
	end       vtime.Time

	fct, recovery sample
	timeline      bins
	datagrams     datagrams
	arrivals      arrivals
	requests      requestCounts
	budget        int // slots that all windows together may still take
}

var _ trace.Viewer = (*Collector)(nil)

// NewCollector returns a collector for a trace with header h, which must not change afterwards.
func NewCollector(h *trace.Header, o Options) *Collector {
	return &Collector{opts: o, header: h, halves: make([][2]*half, len(h.Conns)), flows: make([]*flow, len(h.Conns)),
		timeline: newBins(),
		arrivals: arrivals{ideal: o.Ideal}, budget: totalSlots}
}

// Sight implements trace.Viewer. A packet counts as sent where it leaves, or where it arrives when the sender has no
// tap. Packets forged by the harness are not counted, and of a divided path only the last hop is.
func (c *Collector) Sight(s *trace.Sight) {
	r := s.Rec
	if r.Fate == trace.Injected || c.header.On(r.Conn) == trace.LANHop {
		return // of a path with a middlebox, only the hop behind it is measured
	}
	c.requests.sight(r)
	sent := s.Out || !c.header.Taps[r.From&1]
	arrived := !s.Out || !c.header.Taps[r.From&1^1]
	if sent {
		c.sum.Packets++
		if taken(r) {
			c.sum.Lost++
		}
	}
	switch r.Packet.Opcode {
	case roce.UDP:
		c.datagrams.sight(c, s, sent)
		return
	case roce.TCP:
		if f := c.flow(r.Conn); f != nil {
			f.sight(s, sent, arrived)
		}
		return
	}
	h := c.half(r)
	if h == nil || !intact(s) {
		return // a receiver drops a damaged packet, so it makes no progress
	}
	if s.Pkt.Opcode.IsRequest() {
		h.request(s, sent)
	} else {
		h.response(s, sent, arrived)
	}
}

// half finds the half-conversation of a packet by its form as sent; nil for a packet without one.
func (c *Collector) half(r *trace.Record) *half {
	o := r.Packet.Opcode
	if r.Conn < 0 || r.Conn >= len(c.halves) || r.Packet.DestQP == roce.CMQueuePair {
		return nil // connection management carries no message of the workload
	}
	side := r.From & 1
	switch {
	case o.IsRequest(), o.IsReadAck():
	case o.IsResponse():
		side ^= 1
	default:
		return nil
	}
	h := c.halves[r.Conn][side]
	if h == nil {
		h = newHalf(c, r.Conn, side)
		c.halves[r.Conn][side] = h
	}
	return h
}

// taken reports whether the link lost the packet or made it unusable for the receiver.
func taken(r *trace.Record) bool {
	ch := r.Changed
	return r.Fate == trace.Dropped || r.Fate == trace.Corrupted && ch != nil &&
		(ch.ICRC == trace.Bad || ch.Defect != "")
}

// intact reports that a packet, as seen here, is one that its receiver reads.
func intact(s *trace.Sight) bool {
	defect := s.Rec.Defect
	if ch := s.Rec.Changed; ch != nil && !s.Out {
		defect = ch.Defect
	}
	return s.ICRC != trace.Bad && defect == ""
}

// Event implements trace.Viewer.
func (c *Collector) Event(e *trace.Event) {
	if e.Kind == trace.Timeout {
		c.sum.Timeouts++
	}
	c.datagrams.event(c, e)
	c.arrivals.event(e)
	c.requests.event(e)
}

// End implements trace.Viewer.
func (c *Collector) End(at vtime.Time) { c.end = at }

// begin notes the first packet of the run.
func (c *Collector) begin(at vtime.Time) {
	if !c.began {
		c.began, c.first = true, at
		c.timeline.start = at
	}
}

// credit counts n bytes from side as delivered.
func (c *Collector) credit(at vtime.Time, from trace.Side, n int64) {
	if n == 0 {
		return
	}
	c.sum.PayloadBytes += n
	c.carried[from&1] += n
	c.delivered = max(c.delivered, at)
	c.timeline.add(at, n)
}

// Summary returns the numbers of the trace so far.
func (c *Collector) Summary() Summary {
	s := c.sum
	elapsed := c.elapsed()
	s.ElapsedNs = nanoseconds(elapsed)
	if t := elapsed.Seconds(); t > 0 {
		s.GoodputBps = float64(s.PayloadBytes) * 8 / t
		s.ThroughputBps = float64(c.wire) * 8 / t
		s.Utilisation = c.utilisation(s.GoodputBps)
	}
	s.Slowdown = c.arrivals.slowdown()
	s.RecoveryNs, s.FCT = c.recovery.spread(), c.fct.spread()
	s.Work = c.work()
	s.Messages, s.Fairness = s.FCT.Count+c.datagrams.untimed, c.fairness()
	return s
}

// elapsed is zero when nothing was delivered, unless the run had a given duration.
func (c *Collector) elapsed() vtime.Duration {
	last := c.delivered
	if c.opts.Timed {
		last = max(last, c.end)
	}
	if !c.began {
		return 0
	}
	return max(0, last.Sub(c.first))
}

// utilisation relates goodput to the rates of the directions that carried any of it.
func (c *Collector) utilisation(goodput float64) float64 {
	var rate unit.Rate
	for side, n := range c.carried {
		if n > 0 && c.opts.Rates[side] <= 0 {
			return 0
		}
		if n > 0 {
			rate += c.opts.Rates[side]
		}
	}
	if rate == 0 {
		return 0
	}
	return goodput / float64(rate)
}

// Timeline returns payload delivered over time, from the first packet to the end of Elapsed.
func (c *Collector) Timeline() Timeline { return c.timeline.timeline(c.elapsed()) }

// Sequences returns the plots of the first connections, by connection and requester.
func (c *Collector) Sequences() []Sequence {
	var out []Sequence
	for i := range c.halves[:min(len(c.halves), plotted)] {
		for _, h := range c.halves[i] {
			if h != nil && h.plot != nil && len(h.plot.marks) > 0 {
				out = append(out, h.plot.sequence(i, h.side))
			}
		}
	}
	return out
}

// nanoseconds rounds to the nearest nanosecond.
func nanoseconds(d vtime.Duration) int64 {
	return int64((d + vtime.Nanosecond/2) / vtime.Nanosecond)
}
