package rule

import (
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

// expire gives up a hole that is older than T_rob.
func (d *Decoder) expire(now vtime.Time) {
	if d.Held > 0 && now.Sub(d.since) >= d.scheme.wait {
		d.fail(FailedTime, d.since.Add(d.scheme.wait))
	}
}

// expire advances the clock of both decoders.
func (c *Conversation) expire(now vtime.Time) {
	for _, d := range c.Decoders {
		if d != nil {
			d.expire(now)
		}
	}
}
