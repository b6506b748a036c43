package evidence

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// course follows the packets of one half-conversation at the tap: the requests of one end of a connection, and the
// answers to them. It derives on which side of the tap packets were lost, and how long each end took to react as seen
// at the tap.
type course struct {
	requester, responder *host

	begun    bool
	first    psn.PSN // PSN of the first request seen
	newest   psn.PSN // PSN after the newest request
	far      moment  // PSN after a request with a far PSN, the latest to pass, which may be wrong; see setsAside
	expected psn.PSN // expected PSN of a responder at the place of the tap
	jump     moment  // first PSN that had not passed when a later request did
	sent     psn.PSN // PSN after the latest request
	skip     moment  // first PSN that a retransmission passed over, and that was not answered
	resent   bool    // since jump, a request before it passed again: what fills the gap is a retransmission
	owed     owing
	nak      moment // sequence NAK whose retransmission has not passed
	begged   moment // the first NAK of the request that the latest one names
	shown    bool   // an earlier answer showed that this request is missing, and may cause its retransmission
	wait     moment // request that an RNR NAK refused and that has not passed since: its sender waits as it was told
	named    moment // newest request that an answer has named as early
	reuse    reuse
	answered bool    // a response has passed
	awaited  moment  // request that a NAK of any kind named and that has not passed since
	bidden   psn.PSN // PSN after the latest of the requests that were sent again because of a NAK
	unbidden unbidden
	damaged  moment // request that passed with a wrong ICRC
	ahead    bool   // a request after expected has passed since expected was set
	overdue  overdue
	holes    holes
	round    round
	coded    moment     // request after the newest that was repaired and has not passed
	swapped  psn.PSN    // request that passed after later ones, within swapTime and no retransmission
	later    psn.PSN    // PSN after those later ones; they follow swapped when it is valid
	asked    vtime.Time // time of the newest request
	heard    bool       // an answer that ends a response has passed since asked
	answer   vtime.Time // time of the first such answer
	settled  settled
	reads    delivery
	apart    bool // a READ was requested whose responses are in another PSN space
	acks     ackOrder
	swaps    bool           // the responder took requests that passed out of order
	before   bool           // the requester went back to a packet that had not passed, or repaired it
	denied   moment         // request that had passed when a sequence NAK named it, and that was not acknowledged since
	behind   bool           // a denied request was sent again
	deaf     bool           // the requester sent again long after the answers to it had passed
	pause    vtime.Duration // longest time without a request since nak
	replay   moment         // PSN after the latest of the answered requests that are sent again
	mute     int            // gaps that drew no NAK
}

// moment is a PSN and the time at which it passed.
type moment struct {
	psn   psn.PSN
	at    vtime.Time
	valid bool
}

// overdue holds the latest requests that passed when they were expected and after later ones. A responder at the place
// of the tap asks for them, and its NAK may leave after they have come.
type overdue struct {
	list [4]moment
	next uint8
}

func (o *overdue) add(p psn.PSN) {
	o.list[o.next%uint8(len(o.list))] = moment{psn: p, valid: true}
	o.next++
}

func (o *overdue) has(p psn.PSN) bool {
	return slices.Contains(o.list[:], moment{psn: p, valid: true})
}

// swapTime is the most by which captures of several queues put frames out of order.
const swapTime = 20 * vtime.Microsecond

// request processes a request of span PSNs; exact is false when it may have more, so that the next PSN is unknown.
func (c *course) request(s *Sighting, span int, exact bool) {
	c.reuse.asks(s, s.PSN.Add(span))
	if !exact {
		c.begun, c.jump, c.owed.valid, c.nak, c.awaited = false, moment{}, false, moment{}, moment{}
		c.holes, c.coded = holes{}, moment{}
		c.settled = settled{lost: true}
		return
	}
	p, at, end := s.PSN, s.At, s.PSN.Add(span)
	c.round.passes(p, end)
	c.goesOn(p)
	c.pause = max(c.pause, at.Sub(c.asked))
	c.settled.passes(at)
	begins := c.settled.sent(p, end, s.Opcode, !c.begun || c.newest.LessEq(p)) && c.first.LessEq(p)
	c.replays(p, end, at, begins)
	if c.setsAside(p, end, at) {
		return
	}
	misled := c.far.valid && p.Less(c.far.psn) // a wrong PSN has passed
	c.far.valid = false
	switch {
	case !c.begun:
		c.begun, c.first, c.newest, c.expected = true, p, end, end
	case p.Less(c.newest):
		c.passesOver(p, at)
		c.again(p, at)
		c.holes.again(p, end, c.newest, c.responder.keeps)
	default:
		c.holes.leave(c.newest, p)
		if !c.jump.valid && p != c.newest && !(misled && p == c.newest.Next()) {
			c.jumps(at)
		}
		switch gap := at.Sub(c.asked); {
		case c.heard && c.apart: // it may have waited for READ data, which are in another PSN space
		case c.heard:
			c.requester.idle.add(at.Sub(c.answer), gap)
		default:
			c.requester.spacing.Add(gap)
		}
	}
	wanted := c.awaited.valid && c.awaited.psn.In(p, end)
	c.awaited.valid = c.awaited.valid && !wanted
	switch {
	case wanted, p == c.bidden:
		c.bidden = end
	case p.Less(c.newest):
		c.unbidden.add(p, end)
	}
	c.newest, c.sent = psn.Max(c.newest, end), end
	c.expects(p, end, wanted)
	c.asked, c.heard, c.apart = at, false, c.apart || s.Opcode.IsRead() && s.Opcode != roce.ReadRequest
	asks := p.Less(c.expected) && (s.AckReq || s.Opcode.IsRead() || s.Opcode.IsAtomic())
	if !c.owed.valid && (asks || c.responder.keeps && end == c.newest) {
		c.owed.begins(p, at)
		c.owed.data = s.Opcode.IsRead() || s.Opcode.IsAtomic()
	}
}

// jumps notes that a request has passed, and not the one with PSN newest.
func (c *course) jumps(at vtime.Time) { c.jump, c.resent = moment{c.newest, at, true}, false }

// setsAside reports whether a request has a PSN so far beyond the newest that it may be wrong: it moves newest once the
// next request follows it. If none does, it passed in the place of another request.
func (c *course) setsAside(p, end psn.PSN, at vtime.Time) bool {
	follows := c.far.valid && p.In(c.far.psn, c.far.psn.Add(farPSN))
	if !c.begun || follows || !c.newest.Add(farPSN).LessEq(p) {
		return false
	}
	c.far = moment{end, at, true}
	return true
}

// replays processes a request that may begin or continue a replay of answered requests. A sender that has heard no
// answer repeats all that it has sent; one that turns to another request before has no reason for the replay.
func (c *course) replays(p, end psn.PSN, at vtime.Time, begins bool) {
	goesOn := c.replay.valid && c.replay.psn.LessEq(p) && p.Less(c.newest)
	if c.replay = (moment{end, at, begins || goesOn}); c.replay.valid && end == c.newest {
		c.unheard()
	}
}

// unheard notes that the requester has not heard answers that passed long ago.
func (c *course) unheard() {
	c.requester.deaf++
	c.deaf, c.replay.valid = true, false
}

// expects updates the expected PSN by a request with the PSNs [p, end); wanted is true if an answer has asked for it
// since it passed last.
func (c *course) expects(p, end psn.PSN, wanted bool) {
	switch {
	case c.responder.keeps:
		c.expected = c.holes.first(c.newest)
	case c.expected.Less(p):
		c.ahead = true
	case c.expected.Less(end):
		if c.ahead {
			c.overdue.add(c.expected)
			c.fills(wanted)
		}
		c.expected, c.ahead = end, false
	}
}

// fills counts a gap when the missing request passes.
func (c *course) fills(wanted bool) {
	if wanted {
		c.responder.drew++
	} else {
		c.mute++
		c.responder.mute++
	}
}

// quiet reports whether some gaps drew no NAK, although most of those to the responder did: the others may have been
// lost.
func (c *course) quiet() bool { return 0 < c.mute && c.responder.mute <= c.responder.drew }

// spoilt processes a request with a wrong ICRC: it passed, but its receiver had to drop it.
func (c *course) spoilt(s *Sighting) {
	if c.begun && s.PSN == c.newest && !s.Opcode.IsRead() {
		c.damaged = moment{s.PSN, s.At, true}
		c.newest = s.PSN.Next()
		c.holes.leave(s.PSN, c.newest)
	}
}

// passesOver notes the first PSN that a retransmission leaves out although no answer covers it: that packet was lost
// before the tap, if it comes later. One that a responder keeps need not be sent again, unless the timer expires.
func (c *course) passesOver(p psn.PSN, at vtime.Time) {
	answered := c.settled.before()
	switch {
	case c.skip.valid, c.settled.lost, c.responder.keeps, !c.sent.Less(p):
	case answered.valid && c.sent.Less(answered.psn):
	default:
		c.skip = moment{c.sent, at, true}
	}
}

// again processes a request with a PSN before the newest: a missing request or a retransmission.
func (c *course) again(p psn.PSN, at vtime.Time) {
	asked := c.nak.valid && p == c.nak.psn
	if asked {
		if h := c.requester; len(h.react) < SampleLimit && !c.shown && !c.wait.valid {
			h.react = append(h.react, retreat{at.Sub(c.nak.at), c.pause, c.nak.at.Sub(c.begged.at)})
		}
		c.nak.valid = false
	}
	c.wait.valid = c.wait.valid && c.wait.psn.Less(p)
	if c.denied.valid && p == c.denied.psn {
		c.behind = true
	}
	if c.skip.valid && p == c.skip.psn {
		c.unsighted()
		c.skip.valid = false
	}
	if c.jump.valid && p == c.jump.psn {
		if c.resent || asked || at.Sub(c.jump.at) > swapTime {
			c.unsighted()
		} else {
			c.requester.crossed++
			if c.newest.Sub(p) < farPSN {
				c.swapped, c.later = p, c.newest
			}
		}
		c.jump.valid = false
		c.overdue.add(p)
	}
	c.resent = c.resent || p.Less(c.jump.psn)
	if c.owed.valid && p == c.owed.psn {
		if !c.owed.waits(at) {
			c.responder.silent.Add(at.Sub(c.owed.at))
		}
		c.owed.begins(p, at)
	}
}

// unsighted notes that the requester goes back to a packet as to one that it has sent, or repairs it, and that it had
// not passed.
func (c *course) unsighted() {
	c.requester.gaps++
	c.before = true
}
