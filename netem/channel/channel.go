// Package channel is one direction of an emulated link as a state machine without I/O or a clock. The virtual-time
// bench and the user-space relay both drive it, so a link means the same on both.
//
// On every packet it applies, in this order: scripted faults, loss, queue (with its congestion marks), rate, delay and
// jitter, reordering, duplication, corruption. A packet that a fault or the loss process takes is lost on the way: it
// has used its turn in the queue and its time on the line. (Kernel netem loses it before the line, so that a lost
// packet costs no rate.)
//
// Arrivals keep the order of sending, with these exceptions: jitter lets a late packet be overtaken, as in netem; a
// reordered packet skips the delay; a delay fault holds back one packet; a reorder fault makes it wait for successors.
//
// Draws depend on the seed and on how many packets were offered before, not on time or on each other: the n-th packet
// meets the same loss, jitter, reordering, duplication and corruption on every bench, whatever becomes of it and
// whichever other impairments are on. Only a loss process with slots follows channel time instead.
package channel

import (
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/fault"
	"github.com/rdma-gauntlet/gauntlet/netem/spec"
)

// Channel is one direction of a link. It is not safe for concurrent use.
type Channel struct {
	link   spec.Link
	faults *fault.Set // nil when nothing is scripted
	loss   losses
	port   line // of a sender that is faster than the line; unlimited when it is not
	line   line
	held   held
	draws  draws
	now    vtime.Time
	counts Counters
}

// New returns an idle channel at time zero. The faults may be nil, and may be shared with the other direction.
func New(link spec.Link, faults *fault.Set, seed uint64) (*Channel, error) {
	if err := link.Validate(); err != nil {
		return nil, fmt.Errorf("channel: %w", err)
	}
	d := newDraws(link, seed)
	l, err := newLosses(link.Loss, d.lossSeed)
	if err != nil {
		return nil, fmt.Errorf("channel: %w", err)
	}
	if faults != nil && len(faults.Faults()) == 0 {
		faults = nil // it decides nothing, for every packet
	}
	return &Channel{link: link, faults: faults, loss: l, draws: d, port: line{rate: link.Port, queue: link.Queue},
		line: line{rate: link.Rate, queue: link.Queue}}, nil
}

// Offer gives the channel one packet of wireBytes (counted at layer 1, as in unit.Rate) at time now, and returns what
// becomes of it. Times must not decrease; an earlier one counts as the latest seen. After each Offer the driver drains
// Release, because the packet may have let a held one go.
func (c *Channel) Offer(now vtime.Time, wireBytes int, from fault.Side, id fault.Identity) Verdict {
	c.now = max(c.now, now)
	n := c.counts.Offered
	c.counts.Offered++
	var v Verdict
	var f fault.Decision
	if c.faults != nil {
		f = c.faults.Decide(from, id)
		v.Cause = byFault(f)
	}
	lost := c.loss.lose(c.now, from, &id) // drawn even for a dropped packet, so that faults do not shift the losses
	if lost && !f.Drop {
		v.Cause = Cause{Kind: Loss}
	}
	v.Sent, v.Arrive = c.now, vtime.Never
	room := c.enter(&v, wireBytes)
	switch {
	case f.Drop || lost: // its cause is known, and it never arrives
	case !room:
		v.Cause = Cause{Kind: Queue}
	default:
		c.travel(&v, n, wireBytes, &f)
	}
	c.counts.add(&v)
	return v
}

// enter puts a packet on the line, behind the port if there is one, and reports whether there was room.
func (c *Channel) enter(v *Verdict, wireBytes int) bool {
	if c.link.Port == 0 {
		room := c.line.enter(c.now, wireBytes)
		if room {
			v.Sent = c.line.free
		}
		return room
	}
	c.port.free = max(c.port.free, c.now).Add(c.link.Port.Time(wireBytes))
	v.Sent = c.port.free
	return c.line.enter(c.port.free, wireBytes)
}

// travel applies what happens to the n-th packet behind the line.
func (c *Channel) travel(v *Verdict, n uint64, wireBytes int, f *fault.Decision) {
	v.Fate = Delivered
	left := c.line.free
	v.Arrive = left.Add(c.link.Delay + c.draws.jitter(n) + f.Delay)
	if c.draws.reorder.hit(n) {
		v.Arrive = left.Add(f.Delay)
		c.counts.Reordered++
		v.note(ReorderedAtRandom)
	}
	v.Copies, v.Gap = f.Copies, f.Gap
	if c.draws.duplicate.hit(n) {
		v.Copies++
		v.note(DuplicatedAtRandom)
	}
	if v.Copies > 0 && v.Gap == 0 {
		v.Gap = c.link.Rate.Time(wireBytes)
	}
	if c.marked(n) {
		f.Mark = true
		c.counts.Marked++
		v.note(MarkedByQueue)
	}
	v.Mark, v.Rewrite, v.Value, v.Corrupt = f.Mark, f.Rewrite, f.Value, f.Corrupt
	if v.Corrupt == "" && c.draws.corrupt.hit(n) {
		v.Corrupt = fault.AnyField
		v.note(CorruptedAtRandom)
	}
	if v.Corrupt != "" {
		v.Draw = c.draws.bit.At(n)
	}
	if f.Behind > 0 && c.hold(v, f.Behind) {
		return
	}
	c.held.pass(c.now, v.Arrive)
}

// marked decides whether the queue marks the n-th packet, which has just entered it.
func (c *Channel) marked(n uint64) bool {
	m := &c.link.Mark
	switch waiting := c.line.n; {
	case m.Min == 0 || waiting < m.Min:
		return false
	case waiting >= m.Max:
		return true
	default:
		return c.draws.mark.Below(n, float64(m.P)*float64(waiting-m.Min)/float64(m.Max-m.Min))
	}
}

// Free returns when the sender's port is next idle, which is the line unless the port is faster; a driver that pulls
// its packets pulls the next one then.
func (c *Channel) Free() vtime.Time {
	if c.link.Port != 0 {
		return c.port.free
	}
	return c.line.free
}

// Line returns how long wireBytes occupy the line.
func (c *Channel) Line(wireBytes int) vtime.Duration { return c.link.Rate.Time(wireBytes) }

// Rate returns the rate of the line; 0 is unlimited.
func (c *Channel) Rate() unit.Rate { return c.link.Rate }

// Counters returns what the channel has done so far.
func (c *Channel) Counters() Counters {
	n := c.counts
	n.QueueMax, n.Early = c.line.highest, c.held.early
	return n
}
