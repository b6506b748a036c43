package evidence

import (
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// owing is the oldest request that awaits an answer, with all requests before it seen.
type owing struct {
	moment
	data    bool           // it asks for data, which begin with its PSN; later ones may be those of an earlier request
	queued  bool           // data for earlier requests have passed since
	silence vtime.Duration // longest time without an answer since
	latest  vtime.Time     // time of the latest answer, to whatever request
}

// begins notes that request p awaits an answer from at on.
func (o *owing) begins(p psn.PSN, at vtime.Time) {
	o.moment, o.queued, o.silence = moment{p, at, true}, false, 0
}

// passes processes an answer of any kind.
func (o *owing) passes(s *Sighting) {
	o.queued = o.queued || s.Opcode.IsReadResponse() && s.PSN.Less(o.psn)
	o.silence, o.latest = o.silent(s.At), s.At
}

// silent returns the longest time without an answer since.
func (o *owing) silent(at vtime.Time) vtime.Duration {
	return max(o.silence, at.Sub(max(o.at, o.latest)))
}

// waits reports whether the answer has waited, for most of the time, behind data for earlier requests.
func (o *owing) waits(at vtime.Time) bool { return o.queued && 2*o.silent(at) <= at.Sub(o.at) }

// answered processes an answer to request p and all before it. It returns the time that the answer took, if it tells.
func (o *owing) answered(p psn.PSN, at vtime.Time) (after vtime.Duration, tells bool) {
	if !o.valid || p.Less(o.psn) {
		return 0, false
	}
	o.valid = false
	return at.Sub(o.at), !o.waits(at) && (p == o.psn || !o.data)
}

// delivery is the READ responses that have passed.
type delivery struct {
	any    bool    // one has passed
	within bool    // the next one is of the same READ
	next   psn.PSN // PSN after the latest
	paused moment  // response that was due when another READ was answered
}

// ackOrder is the order of the acknowledgements that have passed.
type ackOrder struct {
	latest moment         // PSN of the latest
	early  moment         // PSN of one before which earlier ones should have passed
	by     vtime.Duration // time from that one to the first of the earlier ones
}

// passes compares an acknowledgement of host h with the one before it; newest is the PSN after the newest request. One
// whose order a path has changed overtakes those of requests before its own, and is not repeated behind them.
func (o *ackOrder) passes(p psn.PSN, at vtime.Time, newest psn.PSN, h *host) {
	if o.early.valid && o.early.psn.LessEq(p) {
		if o.early.valid = false; o.early.psn != p {
			h.overtook.Add(o.by)
		}
	}
	if o.latest.valid && p.Less(o.latest.psn) {
		h.crossed++
		if o.latest.psn.Less(newest) {
			o.early, o.by = o.latest, at.Sub(o.latest.at)
		}
	}
	o.latest = moment{p, at, true}
}

// response processes an answer.
func (c *course) response(s *Sighting) {
	c.reuse.answers(s)
	if !c.begun {
		return
	}
	if !s.Opcode.IsReadResponse() || s.Opcode.EndsMessage() {
		if !c.heard {
			c.answer = s.At
		}
		c.heard = true
	}
	if !c.answered && c.newest.LessEq(s.PSN) { // the capture began in the middle of a recovery
		c.requester.missing++
		c.responder.unserved++
	}
	c.answered = true
	if s.selective() {
		c.selects(s)
	}
	positive := s.grants()
	if c.replay.valid && s.At.Sub(c.replay.at) <= swapTime { // which may be what ends the replay
		c.unheard()
	}
	c.settled.passes(s.At)
	if positive {
		c.settled.answered(s.PSN, s.Opcode)
	}
	if !positive && !c.holes.repaired(s.PSN) {
		c.awaited = moment{s.PSN, s.At, !c.unbidden.crosses(s.PSN)}
	} else if positive && c.awaited.valid && c.awaited.psn.LessEq(s.PSN) {
		c.requester.missing++
		c.awaited.valid = false
	}
	c.tells(s, positive)
	if s.Opcode.IsReadResponse() {
		c.delivers(s)
	}
	if positive && s.Opcode == roce.Acknowledge {
		c.acks.passes(s.PSN, s.At, c.newest, c.responder)
	}
	if s.selective() && (!c.named.valid || c.named.psn.Less(s.SACK)) {
		c.named = moment{s.SACK, s.At, true}
	}
	c.owed.passes(s)
}

// tells processes what an answer tells about the requests before it, or about the one that it names.
func (c *course) tells(s *Sighting, positive bool) {
	switch {
	case positive:
		c.acknowledged(s.last(), s.At)
	case s.Syndrome == roce.SyndromePSNSeqErr:
		c.owed.valid = c.owed.valid && c.responder.keeps
		c.sequence(s)
	default: // the request that it names is sent again; later ones were not processed, or draw NAKs that ask for it
		c.owed.valid = false
		c.wait = moment{s.PSN, s.At, s.Syndrome.IsRNR()}
		c.overdue.add(s.PSN)
		if s.PSN.In(c.first, c.expected) {
			c.expected = s.PSN
		}
	}
}

// delivers processes a READ response, which follows the one before it of its READ. One that does not asks, as a NAK
// does, for the response that is missing. A responder may go on with a READ that it paused to repeat an earlier one.
func (c *course) delivers(s *Sighting) {
	starts := s.Opcode.StartsMessage()
	resumes := !starts && c.reads.paused.valid && s.PSN == c.reads.paused.psn
	lacks := c.reads.any && c.reads.next.Less(s.PSN) && !resumes
	if lacks && (c.reads.within || !starts) && (!c.nak.valid || c.nak.at < c.asked) {
		c.asksFor(c.reads.next, s.At)
		c.shown = false
	}
	switch {
	case starts && c.reads.within:
		c.reads.paused = moment{c.reads.next, s.At, true}
	case starts:
	case resumes:
		c.reads.paused.valid = false
	case lacks:
		c.responder.gaps++
	case c.reads.any && !c.reads.within:
		c.responder.crossed++
	}
	c.reads.within, c.reads.next, c.reads.any = !s.Opcode.EndsMessage(), s.PSN.Next(), true
}

// grants reports whether an answer carries the data asked for or is a positive acknowledgement; an answer without AETH
// counts as one. Data are no refusal, whatever syndrome they have.
func (s *Sighting) grants() bool {
	data := s.Opcode.IsReadResponse() || s.Opcode == roce.AtomicAck
	return data || s.Opcode.Layout()&roce.LayoutAETH == 0 || s.Syndrome.IsACK()
}

// selective reports whether an answer names a request that was received early.
func (s *Sighting) selective() bool { return s.Opcode.Layout()&roce.LayoutSACKETH != 0 }

// last returns the last request that a positive answer acknowledges.
func (s *Sighting) last() psn.PSN {
	if s.selective() {
		return s.PSN.Prev()
	}
	return s.PSN
}

// acknowledged processes an answer that shows that request p and all before it were executed.
func (c *course) acknowledged(p psn.PSN, at vtime.Time) {
	c.skip.valid = c.skip.valid && p.Less(c.skip.psn)
	c.denied.valid = c.denied.valid && p.Less(c.denied.psn)
	c.holes.acknowledged(p)
	if p.In(c.expected, c.newest) {
		// A request that did not pass the tap in order was received: the capture lacks it. All requests after it are
		// taken to have passed.
		c.requester.missing++
		if c.swapped.Less(c.expected) && c.expected.Less(c.later) {
			c.responder.swaps++
			c.swaps = true
		}
		c.expected = c.newest
	}
	if c.responder.keeps {
		c.expected = c.holes.first(c.newest)
	}
	if after, tells := c.owed.answered(p, at); tells {
		c.responder.answers.Add(after)
	}
}

// selects processes an answer that names the request on whose arrival it was sent.
func (c *course) selects(s *Sighting) {
	c.responder.keeps = true
	c.expected = c.holes.first(c.newest)
	if late := s.SACK.Sub(c.owed.psn); c.owed.valid && late >= 0 {
		if late == 0 {
			c.responder.answers.Add(s.At.Sub(c.owed.at))
		}
		c.owed.valid = false
	}
}

// sequence processes a sequence NAK.
func (c *course) sequence(s *Sighting) {
	p, at := s.PSN, s.At
	if d := c.first.Sub(p); d > 0 && d < SkipLimit { // lost before the first one, or sent before the capture
		c.first, c.expected, c.ahead = p, p, true
	}
	if c.nak.valid && c.nak.psn == p || !p.In(c.first, c.newest) {
		return
	}
	c.shown = c.named.valid && p.Less(c.named.psn) && c.begged.valid && c.begged.psn != p
	c.asksFor(p, at)
	switch {
	case c.damaged.valid && c.damaged.psn == p: // lost by damage, which does not depend on the place of the tap
	case c.overdue.has(p), c.holes.crossed(s): // asked for before it came, and not lost
	case p.Less(c.expected):
		c.responder.seen++
		c.denied = c.nak
	default:
		c.requester.unseen++
	}
}

// asksFor notes that an answer asks for p.
func (c *course) asksFor(p psn.PSN, at vtime.Time) {
	c.nak, c.pause = moment{p, at, true}, 0
	if !c.begged.valid || c.begged.psn != p {
		c.begged = c.nak
	}
}
