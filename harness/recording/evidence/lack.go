package evidence

import (
	"fmt"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// lack looks for packets of one half-conversation that passed a tap and are not in the capture. A request that is
// acknowledged, and that the capture does not have although it has later ones, is missing from the capture: a request
// that was lost is not acknowledged.
type lack struct {
	whole    bool // the first request of all is known, and the capture has it: none was sent before
	begun    bool
	newest   psn.PSN    // PSN after the newest request
	start    psn.PSN    // PSN of the first request
	end      psn.PSN    // PSN after the first request
	holes    []hole     // in order
	far      bool       // a request after the newest was acknowledged
	foretold bool       // newest was answered with data before it passed, when no READ or atomic awaited them
	signs    []sign     // the first signs of missing packets, at most signLimit
	middle   bool       // requests before the first one seen were still to be answered or sent again
	unasked  bool       // one of them came that no NAK had asked for, or was received and has not passed
	blind    bool       // an answer passed before the first request
	settled  vtime.Time // time of the first grant of a request seen, after all signs of middle; 0 before
	low      psn.PSN    // PSN of the oldest request seen
	early    psn.PSN    // newest PSN before low that was acknowledged; valid when late is true
	late     bool       // an answer has passed
	since    vtime.Time // time of the first packet; valid when any is true
	any      bool
	began    vtime.Time // time of the first frame of the tap; set by Witness.closed
	again    psn.PSN    // first request that a NAK asked for and that has not been sent since
	refuse   bool       // again is valid
	resent   bool       // a request that the NAK asked for has been sent since
	beyond   bool       // one after again has been sent again since
	unready  bool       // the NAK was an RNR NAK of a request that it may not name
	unbidden unbidden
	keeps    bool // the responder keeps requests that are early: a NAK asks for one request
	round    round
	repaired resends   // requests sent again, of a responder that keeps what is early
	waiting  []psn.PSN // newest requests that an RNR NAK may name
	data     *fetched  // nil before the first READ or atomic
	coded    bool      // LoWAR packets of no requests have passed: the requester may have data that did not
	// lack of READ responses in a PSN space of their own, and of their acknowledgements; nil before the first
	apart *lack

	requests, answers repeated
	duplicates        copies
}

// unbidden is the latest requests that were sent again although no NAK had asked for them, but a timer or data that are
// missing. A NAK of one of them may have been on its way.
type unbidden struct{ stretch }

// add adds the requests [p, end).
func (u *unbidden) add(p, end psn.PSN) {
	if u.to != p {
		u.from = p
	}
	u.to = end
}

// crosses reports whether a NAK of p may be older than the latest transmission of p. A second one is not.
func (u *unbidden) crosses(p psn.PSN) bool {
	crosses := u.has(p)
	if crosses {
		*u = unbidden{}
	}
	return crosses
}

// hole is a stretch that requests skipped.
type hole struct {
	stretch
	passed bool // a NAK of a later PSN says that it was received, which is true if it is not sent again
	first  bool // it follows the first request seen
}

// Bounds of the state of a half-conversation. A gap of SkipLimit PSNs or more is not taken for missing frames but for a
// wrong PSN.
const (
	holeLimit = 32
	signLimit = 8
	SkipLimit = 1 << 15
)

// passes records the time of the first packet.
func (l *lack) passes(s *Sighting) {
	if !l.any {
		l.since, l.any = s.At, true
	}
}

// asks processes a request of any kind, with the PSNs up to end.
func (l *lack) asks(s *Sighting, end psn.PSN) {
	l.passes(s)
	l.round.passes(s.PSN, end)
	l.twice(&l.requests, s)
	repeats, data := l.begun && s.PSN.Less(l.newest), s.answeredInOrder()
	if !repeats {
		if data && l.foretold && s.PSN == l.newest {
			l.unseen(s.PSN, true)
		}
		l.foretold = false
	}
	l.request(s.PSN, end)
	if !repeats && (data || s.Opcode.TakesReceive()) {
		l.waiting = remember(l.waiting, s.PSN)
	}
	if s.Opcode.Class() != roce.ClassRC {
		l.keep()
	}
	if repeats {
		l.repaired.add(s.PSN)
	}
	if !l.comes(s.PSN, end) && repeats {
		l.beyond = l.beyond || l.refuse
		l.unbidden.add(s.PSN, end)
	}
	if !data {
		return
	}
	if l.data == nil {
		l.data = &fetched{}
	}
	l.data.request(s.PSN, end, s.Opcode.IsAtomic())
}

// lost adds the sign of data that did not pass; had is set if they had passed before, in answer to an earlier request.
func (l *lack) lost(p psn.PSN, had bool) {
	if !l.coded {
		l.note(sign{psn: p, what: unanswered, had: had})
	}
}

// comes notes that the requests [p, end) have passed since a NAK, or were repaired, and reports whether it asked for
// them.
func (l *lack) comes(p, end psn.PSN) bool {
	switch {
	case l.refuse && l.keeps && p == l.again:
		l.refuse = false
	case l.refuse && !l.keeps && p.LessEq(l.again):
		l.again, l.resent = psn.Max(l.again, end), true
		l.refuse = l.again.Less(l.newest)
	default:
		return false
	}
	return true
}

// fetches processes a positive answer for the READs and atomics: whatever it answers, the data requested earlier must
// have come first.
func (l *lack) fetches(s *Sighting) {
	switch {
	case l.data == nil:
	case s.Opcode == roce.Acknowledge:
		l.data.acknowledged(s.PSN)
	case l.data.data(s.PSN, s.Opcode == roce.AtomicAck, s.Opcode == roce.AtomicAck || s.Opcode.StartsMessage()):
		l.sign(s.PSN, unasked)
	}
}

// refused processes an answer that asks for p and all after it: none of those requests is received before it is sent
// again.
func (l *lack) refused(s *Sighting) {
	p := s.PSN
	l.served(p)
	if d := l.newest.Sub(p); d > 0 && d < SkipLimit {
		l.again, l.refuse, l.resent, l.beyond, l.unready = p, !l.unbidden.crosses(p), false, false, l.nobody(s)
		if s.Opcode == roce.Acknowledge { // what follows p is not kept
			l.holes = slices.DeleteFunc(l.holes, func(h hole) bool { return p.LessEq(h.from) })
		}
	}
}

// keep records that the responder keeps requests that are early.
func (l *lack) keep() {
	if !l.keeps {
		l.keeps, l.refuse, l.duplicates.kept, l.repaired.since = true, false, true, map[psn.PSN]bool{}
	}
}

// missed processes an answer that asks for its PSN, of a responder that keeps what is early: that request is sent again
// before it is received, and those after it may have been received. Each early arrival draws such an answer, so the
// request may be on its way again already.
func (l *lack) missed(s *Sighting) {
	p := s.PSN
	l.served(p)
	if d := l.newest.Sub(p); d > 0 && d < SkipLimit && !l.repaired.has(p) {
		l.beyond = l.beyond && l.refuse && l.again == p
		l.again, l.refuse, l.resent, l.unready = p, true, false, l.nobody(s)
	}
}

// nobody reports an RNR NAK of a request that takes no receive.
func (l *lack) nobody(s *Sighting) bool {
	return s.Syndrome.IsRNR() && !slices.Contains(l.waiting, s.PSN)
}

// served processes an answer which shows that all requests before p were received, including those that a NAK had asked
// for. If none of these was sent again, the answer is wrong.
func (l *lack) served(p psn.PSN) {
	if l.refuse && (l.resent || l.beyond && !l.unready) && l.again.Less(p) && p.LessEq(l.newest) {
		l.sign(l.again, resent)
		l.refuse = false
	}
}

// request updates the holes by a request with the PSNs up to end.
func (l *lack) request(p, end psn.PSN) {
	switch {
	case !l.begun:
		l.begun, l.start, l.end, l.low, l.newest = true, p, end, p, end
		return
	case p.Less(l.newest):
		if !slices.ContainsFunc(l.holes, func(h hole) bool { return h.has(p) }) {
			l.duplicates.add(p)
		}
		l.unasked = l.before(p) && !(l.refuse && l.again.LessEq(p)) || l.unasked
		if l.expired(p) {
			l.middle, l.settled = true, 0
		}
		l.older(p)
		l.fill(p, end)
	case p.Sub(l.newest) >= SkipLimit:
		return
	case p != l.newest && l.far:
		l.unseen(l.newest, true)
	case p != l.newest && len(l.holes) < holeLimit:
		l.holes = append(l.holes, hole{stretch{l.newest, p}, false, l.newest == l.end})
	}
	l.far = false
	l.newest = psn.Max(l.newest, end)
}

// before records that p is sent again or asked for, and reports whether it is before the first request seen.
func (l *lack) before(p psn.PSN) bool {
	d := l.start.Sub(p)
	if !l.begun || d <= 0 || d >= SkipLimit {
		return false
	}
	l.middle, l.settled = true, 0
	return true
}

// expired reports whether request p is the first one seen and comes again before anything else: its timer expired, and
// others may have been sent after it before the capture.
func (l *lack) expired(p psn.PSN) bool { return p == l.start && l.newest == l.end && !l.late }

// older lowers low to the PSN of a request.
func (l *lack) older(p psn.PSN) {
	if d := l.low.Sub(p); d > 0 && d < SkipLimit {
		l.low = p
	}
}

// fill removes the PSNs [p, end) of a late request from the holes.
func (l *lack) fill(p, end psn.PSN) {
	var left []hole
	for _, h := range l.holes {
		before, after := h.without(p, end)
		for _, x := range []stretch{before, after} {
			if !x.empty() {
				left = append(left, hole{x, h.passed, h.first})
			}
		}
	}
	l.holes = left
}

// acknowledged processes an answer which shows that all requests before p were received.
func (l *lack) acknowledged(p psn.PSN) {
	if l.newest.Less(p) && p.Sub(l.newest) < SkipLimit {
		l.far = true
	}
	l.asked(p)
	l.holes = slices.DeleteFunc(l.holes, func(h hole) bool {
		covered := h.from.Less(p) && p.LessEq(l.newest)
		if covered {
			l.unseen(h.from, h.first)
		}
		return covered
	})
}

// asked processes an answer that asks for p: all requests before p were received, or its sender is wrong.
func (l *lack) asked(p psn.PSN) {
	e := l.low.Prev()
	if p.Less(l.low) {
		e = p.Prev()
	}
	if !l.late {
		l.early, l.late = e, true
	}
	l.early = psn.Max(l.early, e)
	for i := range l.holes {
		h := &l.holes[i]
		h.passed = h.passed || h.from.Less(p) && p.LessEq(l.newest)
	}
}

// close is called at the end of the capture. It signs requests and answers that were acknowledged and never seen.
func (l *lack) close() {
	if l.far {
		l.unseen(l.newest, true)
	}
	for _, h := range l.holes {
		if h.passed {
			l.unseen(h.from, h.first)
		}
		if h.first {
			l.middle, l.settled = true, 0
		}
	}
	if l.data != nil {
		for _, h := range l.data.holes {
			l.lost(h.from, l.data.hasPassed(h))
		}
	}
}

// received processes an answer which shows that request p was received, whether those before it were or not. An RNR NAK
// shows it too.
func (l *lack) received(p psn.PSN) {
	if l.newest.LessEq(p) && p.Sub(l.newest) < SkipLimit {
		l.far = true
	}
	if d := l.low.Sub(p); d > 0 && d < SkipLimit {
		l.unasked = true
	}
	for _, h := range l.holes {
		if p.In(h.from, h.to) {
			l.unseen(p, h.first)
			l.fill(p, p.Next())
			return
		}
	}
}

// response processes an answer, which may show what its sender has received.
func (l *lack) response(s *Sighting) {
	l.passes(s)
	l.twice(&l.answers, s)
	selective := s.selective()
	if selective {
		l.keep()
	}
	if !l.begun {
		l.blind, l.middle = true, true
		return
	}
	if l.middle && l.settled == 0 && s.grants() && l.start.LessEq(s.PSN) && s.PSN.Less(l.newest) {
		l.settled = s.At
	}
	switch {
	case !s.grants():
		l.before(s.PSN)
		l.asked(s.PSN)
		if s.Syndrome.IsRNR() {
			l.received(s.PSN)
		}
		if l.keeps {
			l.missed(s)
		} else {
			l.refused(s)
		}
	case selective:
		l.acknowledged(s.PSN)
	case s.Opcode.IsReadResponse(), s.Opcode == roce.AtomicAck:
		l.before(s.PSN)
		due := l.data != nil && len(l.data.due) > 0
		l.acknowledged(s.PSN)
		l.received(s.PSN)
		l.foretold = l.foretold || !due && s.PSN == l.newest && s.Opcode.StartsMessage()
	default:
		l.acknowledged(s.PSN.Next())
	}
	if selective {
		l.received(s.SACK)
		return
	}
	if !s.grants() {
		return
	}
	l.served(s.PSN.Next())
	l.fetches(s)
}

// doubt returns the doubt about the evidence of a tap; nil when there is none, or when the other tap lacks the same
// packets, which then were not sent. One of the two taps is at the port of the responder.
func (l *lack) doubt(other, responder *lack) *trace.Doubt {
	for _, p := range l.doubtful(other, responder) {
		if p.what == repeat {
			return lacking(fmt.Sprintf("the capture has psn=%+d twice within %v, and may have recorded it twice",
				p.psn.Sub(l.start), atOnce))
		}
		return lacking(fmt.Sprintf("the capture lacks packets: psn=%+d was %s", p.psn.Sub(l.start), p.what))
	}
	switch {
	case other != nil && l.late && other.begun && other.start.LessEq(l.early):
		return lacking(fmt.Sprintf("one tap began later than the other: psn=%+d was acknowledged and "+
			"passed only the other one", l.early.Sub(l.start)))
	case other != nil && other.blind != l.blind:
		return lacking("one tap began later than the other")
	case l.inMiddle(other, responder):
		d := lacking("the capture begins when earlier requests were still to be answered")
		if !l.keeps {
			d.Until = l.settled
		}
		return d
	}
	return nil
}

// inMiddle reports whether the tap began when earlier requests were still to be answered or sent again. What the tap at
// the port of the requester shows from its beginning, and the other one does not, was lost between them, unless the
// other one began later: then it may have been received before, if its receiver does not ask for it.
func (l *lack) inMiddle(other, responder *lack) bool {
	if other != nil && l == responder && !other.middle {
		return l.middle && l.unasked && other.since < l.began
	}
	return l.middle
}
