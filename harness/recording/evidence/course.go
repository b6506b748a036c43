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
	owed     moment  // oldest request that awaits an answer, with all requests before it seen
	data     bool    // owed asks for data, which begin with its PSN; later ones may be those of an earlier request
	queued   bool    // data for earlier requests have passed since owed
	nak      moment  // sequence NAK whose retransmission has not passed
	begged   moment  // the first NAK of the request that the latest one names
	shown    bool    // an earlier answer showed that this request is missing, and may cause its retransmission
	wait     moment  // request that an RNR NAK refused and that has not passed since: its sender waits as it was told
	named    moment  // newest request that an answer has named as early
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
	swapped  psn.PSN        // request that passed after later ones, within swapTime and no retransmission
	later    psn.PSN        // PSN after those later ones; they follow swapped when it is valid
	asked    vtime.Time     // time of the newest request
	heard    bool           // an answer that ends a response has passed since asked
	answer   vtime.Time     // time of the first such answer
	latest   vtime.Time     // time of the latest answer
	silence  vtime.Duration // longest time without an answer since owed
	settled  settled
	read     psn.PSN // next READ response expected; valid when inRead is true
	inRead   bool
	fetched  bool           // a READ response has passed
	paused   moment         // READ response due when another READ was answered
	apart    bool           // a READ was requested whose responses are in another PSN space
	acked    moment         // PSN of the latest ACK
	early    moment         // PSN of an ACK before which earlier ones should have passed
	by       vtime.Duration // time from that ACK to the first of the earlier ones
	swaps    bool           // the responder took requests that passed out of order
	before   bool           // the requester went back to a packet that had not passed
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
		c.begun, c.jump, c.owed, c.nak, c.awaited = false, moment{}, moment{}, moment{}, moment{}
		c.holes = holes{}
		c.settled = settled{lost: true}
		return
	}
	p, at, end := s.PSN, s.At, s.PSN.Add(span)
	c.round.passes(p, end)
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
		c.owe(p, at)
		c.data = s.Opcode.IsRead() || s.Opcode.IsAtomic()
	}
}

// owe notes that request p awaits an answer from at on.
func (c *course) owe(p psn.PSN, at vtime.Time) {
	c.owed, c.queued, c.silence = moment{p, at, true}, false, 0
}

// silent returns the longest time without an answer since owed.
func (c *course) silent(at vtime.Time) vtime.Duration {
	return max(c.silence, at.Sub(max(c.owed.at, c.latest)))
}

// waits reports whether an answer to owed has waited, for most of the time, behind data for earlier requests.
func (c *course) waits(at vtime.Time) bool { return c.queued && 2*c.silent(at) <= at.Sub(c.owed.at) }

// jumps notes that a request has passed, and not the one with PSN newest.
func (c *course) jumps(at vtime.Time) { c.jump, c.resent = moment{c.newest, at, true}, false }

// setsAside reports whether a request has a PSN so far beyond the newest that it may be wrong: it moves newest once the
// next request follows it, or an answer covers it. If neither does, it passed in the place of another request.
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
		c.goesBack()
		c.skip.valid = false
	}
	if c.jump.valid && p == c.jump.psn {
		if c.resent || asked || at.Sub(c.jump.at) > swapTime {
			c.goesBack()
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
		if !c.waits(at) {
			c.responder.silent.Add(at.Sub(c.owed.at))
		}
		c.owe(p, at)
	}
}

// goesBack notes that the requester goes back to a packet as to one that it has sent, and that had not passed.
func (c *course) goesBack() {
	c.requester.gaps++
	c.before = true
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
	if positive {
		c.covers(s.PSN)
	}
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
		c.reads(s)
		c.queued = c.queued || s.PSN.Less(c.owed.psn)
	}
	if positive && s.Opcode == roce.Acknowledge {
		c.orders(s.PSN, s.At)
	}
	if s.selective() && (!c.named.valid || c.named.psn.Less(s.SACK)) {
		c.named = moment{s.SACK, s.At, true}
	}
	c.silence, c.latest = c.silent(s.At), s.At
}

// tells processes what an answer tells about the requests before it, or about the one that it names.
func (c *course) tells(s *Sighting, positive bool) {
	switch {
	case positive:
		if s.Opcode != roce.Acknowledge && s.PSN.In(c.expected, c.newest) {
			c.responder.unserved++
		}
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

// orders compares an acknowledgement with the one before it. One whose order a path has changed overtakes those of
// requests before its own, and is not repeated behind them.
func (c *course) orders(p psn.PSN, at vtime.Time) {
	if c.early.valid && c.early.psn.LessEq(p) {
		if c.early.valid = false; c.early.psn != p {
			c.responder.overtook.Add(c.by)
		}
	}
	if c.acked.valid && p.Less(c.acked.psn) {
		c.responder.crossed++
		if c.acked.psn.Less(c.newest) {
			c.early, c.by = c.acked, at.Sub(c.acked.at)
		}
	}
	c.acked = moment{p, at, true}
}

// covers takes the PSN of the request that was set aside for right, if an answer to p shows that.
func (c *course) covers(p psn.PSN) {
	if !c.far.valid || !p.In(c.newest, c.far.psn) {
		return
	}
	if !c.jump.valid {
		c.jumps(c.far.at)
	}
	c.newest, c.far.valid = c.far.psn, false
}

// reads processes a READ response, which follows the one before it of its READ. One that does not asks, as a NAK does,
// for the response that is missing. A responder may go on with a READ that it paused to repeat an earlier one.
func (c *course) reads(s *Sighting) {
	starts := s.Opcode.StartsMessage()
	resumes := !starts && c.paused.valid && s.PSN == c.paused.psn
	lacks := c.fetched && c.read.Less(s.PSN) && !resumes
	if lacks && (c.inRead || !starts) && (!c.nak.valid || c.nak.at < c.asked) {
		c.asksFor(c.read, s.At)
		c.shown = false
	}
	switch {
	case starts && c.inRead:
		c.paused = moment{c.read, s.At, true}
	case starts:
	case resumes:
		c.paused.valid = false
	case lacks:
		c.responder.gaps++
	case c.fetched && !c.inRead:
		c.responder.crossed++
	}
	c.inRead, c.read, c.fetched = !s.Opcode.EndsMessage(), s.PSN.Next(), true
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
		if c.jump.valid && p.Less(c.jump.psn) {
			c.expected = c.jump.psn
		}
	}
	if c.responder.keeps {
		c.expected = c.holes.first(c.newest)
	}
	if c.owed.valid && c.owed.psn.LessEq(p) {
		if !c.waits(at) && (p == c.owed.psn || !c.data) {
			c.responder.answers.Add(at.Sub(c.owed.at))
		}
		c.owed.valid = false
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
	if d := c.first.Sub(p); d > 0 && d < SkipLimit { // lost before the first that passed, or sent before the capture
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

// settled finds requests that are sent again long after all that they ask for has passed the tap: the answer was lost
// between the tap and the requester.
type settled struct {
	acked   psn.PSN    // PSN after those acknowledged; valid when any is true
	any     bool       // an answer has passed
	pending []stretch  // response PSNs of READs and atomics that have not passed, by request, oldest first
	lost    bool       // pending has no room: nothing is concluded
	now     settlement // the latest sample
	past    settlement // the sample before, more than deafAfter ago
	last    vtime.Time // time of the latest packet
	counted bool       // this retransmission was counted
}

// settlement is a sample of the PSN before which every request is answered.
type settlement struct {
	psn   psn.PSN
	at    vtime.Time
	valid bool
}

// deafAfter is the time after an answer from which on a host that sends again has not heard it: less than rules allow
// a host, since they take a later packet for a violation.
const deafAfter = 2 * vtime.Millisecond

// pendingLimit bounds the READs and atomics that are remembered.
const pendingLimit = 128

// before returns the PSN before which every request is answered.
func (x *settled) before() settlement {
	p := x.acked
	if len(x.pending) > 0 && x.pending[0].from.Less(p) {
		p = x.pending[0].from
	}
	return settlement{p, x.last, x.any && !x.lost}
}

// passes is called for every packet before it is processed.
func (x *settled) passes(at vtime.Time) {
	switch {
	case at.Sub(x.last) > deafAfter:
		x.past = x.before()
		x.now = x.past
		x.now.at = at
	case at.Sub(x.now.at) > deafAfter:
		x.past, x.now = x.now, x.before()
		x.now.at = at
	}
	x.last = at
}

// sent processes a request with the PSNs [p, end); first is false for a retransmission. It reports whether a
// retransmission begins that the requester has no reason for, unless the answer was lost behind the tap.
func (x *settled) sent(p, end psn.PSN, o roce.Opcode, first bool) bool {
	if first {
		x.counted = false
		if o.IsRead() || o.IsAtomic() {
			x.lost = x.lost || len(x.pending) == pendingLimit
			if !x.lost {
				x.pending = append(x.pending, stretch{p, end})
			}
		}
		return false
	}
	deaf := x.past.valid && end.LessEq(x.past.psn) && !x.counted
	x.counted = x.counted || deaf
	return deaf
}

// answered processes an intact answer that is no NAK. Data that come before those asked for earlier may be dropped.
func (x *settled) answered(p psn.PSN, o roce.Opcode) {
	if o == roce.Acknowledge || o.IsReadResponse() || o == roce.AtomicAck {
		if !x.any || x.acked.Less(p.Next()) {
			x.acked, x.any = p.Next(), true
		}
	}
	if o == roce.Acknowledge {
		return
	}
	if len(x.pending) == 0 || x.pending[0].from != p {
		return
	}
	if x.pending[0].from = p.Next(); x.pending[0].from == x.pending[0].to {
		x.pending = slices.Delete(x.pending, 0, 1)
	}
}
