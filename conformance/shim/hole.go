package shim

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

// Arrival is a packet that the decoder passes up. A held one is a copy, because a sight is valid only during a
// call.
type Arrival struct {
	Sight     trace.Sight
	Recovered bool // it did not arrive
}

// copyOf returns an Arrival that outlives s.
func copyOf(s *trace.Sight, recovered bool) *Arrival {
	a := &Arrival{*s, recovered}
	rec := s.Rec.Clone()
	a.Sight.Rec, a.Sight.Pkt, a.Sight.Raw = rec, &rec.Packet, rec.Raw
	if rec.Changed != nil {
		a.Sight.Pkt, a.Sight.Raw = &rec.Changed.Packet, rec.Changed.Raw
	}
	return a
}

// Has reports whether a packet of the current block is held.
func (d *Decoder) Has(p psn.PSN) bool {
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
	a.Sight.At = now
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
	if !d.Reads && d.above.Keeps() {
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
	if d.Reads || !d.above.Keeps() || s.Pkt.PSN.Less(d.Next) {
		d.up(&Arrival{*s, recovered})
		return
	}
	d.skip(s.Pkt.PSN)
	d.record(s, 0)
	d.advance(s, recovered)
}

// deadline returns the time at which the current hole is given up; valid while Held > 0.
func (d *Decoder) deadline() vtime.Time { return d.since.Add(d.scheme.wait) }

// Admit gives up a hole whose time is over by less than the resolution of the time stamps, because its endpoint says at
// a time that it has given it up. It reports whether there was one.
func (d *Decoder) Admit(at vtime.Time, tick vtime.Duration) bool {
	if d.Held == 0 || d.deadline().Sub(at) >= tick {
		return false
	}
	d.fail(FailedTime, at)
	return true
}
