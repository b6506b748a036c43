// Package channel implements one direction of an emulated link as a state machine without I/O or a clock. The
// virtual-time bench and the user-space relay both drive it, so that a link behaves the same on both.
//
// It applies to every packet, in this order: scripted faults, loss, queue (with its congestion marks), rate, delay and
// jitter, reordering, duplication, corruption. A packet dropped by a fault or by the loss process is lost after the
// line: it occupies the queue and the line like any other. (Kernel netem drops it before the line, so that a lost
// packet takes no transmission time.)
//
// Packets arrive in the order of sending, with these exceptions: jitter lets a late packet be overtaken, as in netem; a
// reordered packet skips the delay; a delay fault delays one packet; a reorder fault holds a packet until its
// successors have passed.
//
// Draws depend on the seed and on the number of packets offered before, not on time or on other draws: the n-th packet
// gets the same draws for loss, jitter, reordering, duplication and corruption on every bench, with any other
// impairments. Only a loss process with slots depends on channel time instead.
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
	faults *fault.Set // nil if there are no scripted faults
	loss   losses
	port   line // the sender's port, if it is faster than the line (link.Port not 0); else unused
	line   line // the queue and the line of the link
	held   held
	draws  draws
	now    vtime.Time // latest time passed to Offer or Release; never decreases
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
		faults = nil // an empty set never decides anything
	}
	return &Channel{link: link, faults: faults, loss: l, draws: d, port: line{rate: link.Port, queue: link.Queue},
		line: line{rate: link.Rate, queue: link.Queue}}, nil
}

// Offer passes one packet of wireBytes (counted at layer 1, as in unit.Rate) to the channel at time now, and returns
// its verdict. Times must not decrease; an earlier time counts as the latest time seen. After each Offer the driver
// drains Release, because the packet may release a held one.
func (c *Channel) Offer(now vtime.Time, wireBytes int, from fault.Side, id fault.Identity) Verdict {
	c.now = max(c.now, now)
	n := c.counts.Offered
	c.counts.Offered++
	var v Verdict
	var f fault.Decision
	if c.faults != nil {
		f = c.faults.Decide(from, id)
		v.Cause = ByFault(f.Action, f.Fault)
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

// enter sends a packet through the port, if there is one, and onto the line, sets v.Sent, and reports whether the queue
// had room.
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

// travel applies the impairments after the line to the n-th packet.
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

// Free returns the time at which the sender's port, or the line if there is no separate port, is next idle. A driver
// that pulls packets from engines pulls the next one then.
func (c *Channel) Free() vtime.Time {
	if c.link.Port != 0 {
		return c.port.free
	}
	return c.line.free
}

// Line returns the transmission time of wireBytes on the line.
func (c *Channel) Line(wireBytes int) vtime.Duration { return c.link.Rate.Time(wireBytes) }

// Rate returns the rate of the line; 0 is unlimited.
func (c *Channel) Rate() unit.Rate { return c.link.Rate }

// Counters returns the sums of all verdicts so far.
func (c *Channel) Counters() Counters {
	n := c.counts
	n.QueueMax, n.Early = c.line.highest, c.held.early
	return n
}
