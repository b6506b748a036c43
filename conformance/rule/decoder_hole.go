package rule

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Failure is why a block was given up.
type Failure string

// The reasons.
const (
	FailedUnit  Failure = "two packets of a unit are missing"
	FailedLater Failure = "a packet of a later block came"
	FailedTime  Failure = "the hole is older than T_rob"
	FailedFull  Failure = "the reorder buffer is full"
)

// arrival is a packet that the decoder passes up. A held arrival is a copy, because a sight is valid only during a
// call.
type arrival struct {
	sight     trace.Sight
	recovered bool
}

// copyOf returns an arrival that outlives s.
func copyOf(s *trace.Sight, recovered bool) *arrival {
	a := &arrival{*s, recovered}
	rec := s.Rec.Clone()
	a.sight.Rec, a.sight.Pkt, a.sight.Raw = rec, &rec.Packet, rec.Raw
	if rec.Changed != nil {
		a.sight.Pkt, a.sight.Raw = &rec.Changed.Packet, rec.Changed.Raw
	}
	return a
}

// has reports whether a packet of the current block is held.
func (d *Decoder) has(p psn.PSN) bool {
	at := p.Sub(d.Base)
	return at >= 0 && at < len(d.held) && d.held[at] != nil
}

// hold holds a packet while the hole before it may be repaired.
func (d *Decoder) hold(s *trace.Sight, at int, recovered bool) {
	if d.shared.slot == 0 {
		d.fail(FailedFull, s.At)
		d.later(s, recovered)
		return
	}
	if d.Held == 0 {
		d.since = s.At
		d.shared.wait(d)
	}
	d.held[at] = copyOf(s, recovered)
	d.shared.slot--
	d.Held++
}

// release passes up the packet held at a position.
func (d *Decoder) release(at int, now vtime.Time) {
	a := d.held[at]
	d.held[at] = nil
	d.shared.slot++
	d.Held--
	a.sight.At = now
	d.up(a)
}

// fail gives the block up: "If a coding block fails to repair or triggers a timeout in ROB, LoWAR will pass it to RDMA
// stacks to activate GBN retransmission and stop tracking the connection until its retransmission arrives" (LoWAR
// IV-B2). Below a transport that keeps packets received out of order, only the missing packet is sent again, so
// tracking continues.
func (d *Decoder) fail(why Failure, now vtime.Time) {
	d.Failures++
	d.Why, d.Hole = why, d.Next
	behind := d.size
	for at := 0; d.Held > 0; at++ {
		if d.held[at] != nil {
			d.release(at, now)
			behind = max(behind, at+1)
		}
	}
	if !d.reads && d.conv.Keeps() {
		d.skip(d.Base.Add(behind))
		return
	}
	d.Tracking = false
	d.open(d.Base)
}

// skip begins a block at p or, if that is later, at Next; packets missing before it are given up.
func (d *Decoder) skip(p psn.PSN) {
	d.Next = psn.Max(d.Next, p)
	d.open(d.Next)
}

// later processes a packet behind the hole after a failure.
func (d *Decoder) later(s *trace.Sight, recovered bool) {
	if d.reads || !d.conv.Keeps() || s.Pkt.PSN.Less(d.Next) {
		d.up(&arrival{*s, recovered})
		return
	}
	d.skip(s.Pkt.PSN)
	d.record(s, 0)
	d.advance(s, recovered)
}

// deadline returns the time at which the current hole is given up; valid while Held > 0.
func (d *Decoder) deadline() vtime.Time { return d.since.Add(d.scheme.wait) }

// wait adds a decoder that begins to hold packets to the waiting ones.
func (b *buffers) wait(d *Decoder) {
	if !slices.Contains(b.waiting, d) {
		b.waiting = append(b.waiting, d)
	}
	if at := d.deadline(); len(b.waiting) == 1 || at < b.due {
		b.due = at
	}
}

// first drops the decoders that hold nothing any more, and returns the one whose hole is given up first; nil when none
// holds packets.
func (b *buffers) first() (first *Decoder) {
	b.waiting = slices.DeleteFunc(b.waiting, func(d *Decoder) bool { return d.Held == 0 })
	for _, d := range b.waiting {
		if first == nil || d.deadline() < first.deadline() {
			first = d
		}
	}
	if first != nil {
		b.due = first.deadline()
	}
	return first
}

// expire gives up the holes that are older than T_rob, in the order of their deadlines, on all connections of an
// endpoint: the packets behind them occupy the reorder buffer that the connections share, whether or not another packet
// of their own connection is seen.
func (b *buffers) expire(now vtime.Time) {
	for len(b.waiting) > 0 && b.due <= now {
		if d := b.first(); d != nil && b.due <= now {
			d.fail(FailedTime, b.due)
		}
	}
}

// buffersOfEnds are the buffers of both endpoints, by side.
type buffersOfEnds [2]buffers

// expire advances the clock of all decoders.
func (b *buffersOfEnds) expire(now vtime.Time) {
	for side := range b {
		b[side].expire(now)
	}
}
