package recording

import (
	"fmt"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// lack looks for requests of one half-conversation that passed a tap and are not in the capture: those with a later one
// before them that were acknowledged, although the tap has not seen them. Of a packet that was lost nobody acknowledges
// anything.
type lack struct {
	begun     bool
	newest    psn.PSN // behind the newest request
	start     psn.PSN // of the first
	end       psn.PSN // behind the first
	holes     []hole  // in order
	ahead     psn.PSN // newest that was acknowledged and not seen, when far
	far       bool
	signs     []sign     // of what is missing, the first few
	middle    bool       // what came before the first request seen was not done with
	blind     bool       // an answer passed before any request
	low       psn.PSN    // of the oldest request seen
	early     psn.PSN    // newest before that which is said to be received, and has not passed
	late      bool       // there is an answer
	first     psn.PSN    // what the first answer that is not to something before the capture says to be expected next,
	shown     bool       // if there is one
	since, at vtime.Time // of the first packet, and of the latest
	again     psn.PSN    // of the requests that a NAK asked for, the first that has not been sent since,
	refuse    bool       // if there is one,
	resent    bool       // and whether some of them have been
	data      *fetched   // nil before the first READ or atomic
	// of the data of READs that are numbered apart, and of what acknowledges them; nil before the first
	apart *lack

	requests, answers repeated
	duplicates        copies
}

// hole is PSNs that were skipped.
type hole struct {
	from, to psn.PSN
	passed   bool // a NAK of what is behind it says that it was received, which it was if it is not sent again
	first    bool // it is right behind the first request seen
}

// Bounds of what is remembered of a half-conversation, and of what is taken for frames that a capture missed: more are
// a PSN that is wrong.
const (
	holeLimit = 32
	signLimit = 8
	skipLimit = 1 << 15
)

// passes notes when a packet passes.
func (l *lack) passes(s *sighting) {
	if l.at = s.at; l.since == 0 {
		l.since = s.at
	}
}

// asks follows a request of any kind, which takes the PSNs up to end.
func (l *lack) asks(s *sighting, end psn.PSN) {
	l.passes(s)
	l.twice(&l.requests, s)
	l.request(s.psn, end)
	if l.refuse && s.psn.LessEq(l.again) {
		l.again, l.resent = psn.Max(l.again, end), true
		l.refuse = l.again.Less(l.newest)
	}
	if !s.opcode.IsRead() && !s.opcode.IsAtomic() {
		return
	}
	if l.data == nil {
		l.data = &fetched{}
	}
	for _, p := range l.data.request(s.psn, end, s.opcode.IsAtomic()) {
		l.sign(p, unanswered)
	}
}

// fetches follows an answer to what asks for data: to whatever it is, the data that was asked for before comes first.
func (l *lack) fetches(s *sighting) {
	switch {
	case l.data == nil:
	case s.opcode == roce.Acknowledge:
		l.data.acknowledged(s.psn)
	case l.data.data(s.psn, s.opcode == roce.AtomicAck):
		l.sign(s.psn, unasked)
	}
}

// refused follows an answer that asks for p and all behind it: nothing of that is received before it is sent again.
func (l *lack) refused(s *sighting) {
	p := s.psn
	l.served(p)
	if d := l.newest.Sub(p); d > 0 && d < skipLimit && !s.syndrome.IsRNR() {
		l.again, l.refuse, l.resent = p, true, false
	}
	if l.data != nil {
		l.data.refused(p)
	}
}

// served follows an answer that says that all requests before p were received, those that a NAK had asked for again as
// well.
func (l *lack) served(p psn.PSN) {
	if l.refuse && l.resent && l.again.Less(p) && p.LessEq(l.newest) {
		l.sign(l.again, resent)
		l.refuse = false
	}
}

// request follows a request, which takes the PSNs up to end.
func (l *lack) request(p, end psn.PSN) {
	switch {
	case !l.begun:
		l.begun, l.start, l.end, l.low, l.newest = true, p, end, p, end
		return
	case p.Less(l.newest):
		l.duplicates.add(p)
		l.before(p)
		l.older(p)
		l.fill(p, end)
	case p.Sub(l.newest) >= skipLimit:
		return
	case p != l.newest && l.far:
		l.unseen(l.newest, true)
	case p != l.newest && len(l.holes) < holeLimit:
		l.holes = append(l.holes, hole{from: l.newest, to: p, first: l.newest == l.end})
	}
	l.far = false
	l.newest = psn.Max(l.newest, end)
}

// before notes that a request is sent or asked for that came before the first one seen.
func (l *lack) before(p psn.PSN) {
	if d := l.start.Sub(p); l.begun && d > 0 && d < skipLimit {
		l.middle = true
	}
}

// older notes a request that came before the oldest one seen.
func (l *lack) older(p psn.PSN) {
	if d := l.low.Sub(p); d > 0 && d < skipLimit {
		l.low = p
	}
}

// fill takes a request that comes late out of the holes.
func (l *lack) fill(p, end psn.PSN) {
	if len(l.holes) == 0 {
		return
	}
	var left []hole
	for _, h := range l.holes {
		if h.to.LessEq(p) || end.LessEq(h.from) {
			left = append(left, h)
			continue
		}
		if h.from.Less(p) {
			left = append(left, hole{h.from, p, h.passed, h.first})
		}
		if end.Less(h.to) {
			left = append(left, hole{end, h.to, h.passed, h.first})
		}
	}
	l.holes = left
}

// acknowledged follows an answer that says that all requests before p were received.
func (l *lack) acknowledged(p psn.PSN) {
	if l.newest.Less(p) && p.Sub(l.newest) < skipLimit {
		l.ahead, l.far = p.Add(-1), true
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

// asked follows an answer that asks for p: all requests before were received, or its sender is wrong.
func (l *lack) asked(p psn.PSN) {
	e := l.low.Prev()
	if p.Less(l.low) {
		e = p.Prev()
	}
	if !l.late {
		l.early, l.late = e, true
	}
	l.early = psn.Max(l.early, e)
	if !l.shown && l.at.Sub(l.since) > prompt {
		l.shown, l.first = true, p
	}
	for i := range l.holes {
		h := &l.holes[i]
		h.passed = h.passed || h.from.Less(p) && p.LessEq(l.newest)
	}
}

// close is called when all has been read: what was acknowledged to the end, and not seen, was missed.
func (l *lack) close() {
	if l.far {
		l.unseen(l.newest, true)
	}
	for _, h := range l.holes {
		if h.passed {
			l.unseen(h.from, h.first)
		}
		l.middle = l.middle || h.first
	}
	if l.data != nil {
		for _, h := range l.data.holes {
			l.sign(h.from, unanswered)
		}
	}
}

// received follows an answer that says that a request was received, whatever came of those before it.
func (l *lack) received(p psn.PSN) {
	if l.newest.LessEq(p) && p.Sub(l.newest) < skipLimit {
		l.ahead, l.far = p, true
	}
	for _, h := range l.holes {
		if p.In(h.from, h.to) {
			l.unseen(p, h.first)
			l.fill(p, p.Next())
			return
		}
	}
}

// response follows an answer, which may say how far its sender has received.
func (l *lack) response(s *sighting) {
	l.passes(s)
	l.twice(&l.answers, s)
	selective := s.opcode.Layout()&roce.LayoutSACKETH != 0
	if !l.begun {
		l.blind, l.middle = true, true
		return
	}
	switch {
	case !s.grants():
		l.before(s.psn)
		l.asked(s.psn)
		l.refused(s)
	// the latter to a request that may have been sent again
	case selective, s.opcode.IsReadResponse(), s.opcode == roce.AtomicAck:
		l.acknowledged(s.psn)
	default:
		l.acknowledged(s.psn.Next())
	}
	if selective {
		l.received(s.sack)
		return
	}
	if !s.grants() {
		return
	}
	l.served(s.psn.Next())
	l.fetches(s)
}

// why says what l found; "" when there is nothing, or when the other tap lacks the same. Then nobody sent it. One of
// the two is at the port of the responder.
func (l *lack) why(other, responder *lack) string {
	for _, p := range l.alone(other, responder) {
		if p.what == repeat {
			return fmt.Sprintf("the capture has psn=%+d twice within %v, and may have recorded it twice",
				p.psn.Sub(l.start), atOnce)
		}
		return fmt.Sprintf("the capture lacks packets: psn=%+d was %s", p.psn.Sub(l.start), p.what)
	}
	switch {
	case other != nil && l.late && other.begun && other.start.LessEq(l.early):
		return fmt.Sprintf("one tap began later than the other: psn=%+d was acknowledged, and "+
			"passed the other one alone", l.early.Sub(l.start))
	case other != nil && other.blind != l.blind:
		return "one tap began later than the other"
	case l.middle && (other == nil || other.middle):
		return "the capture begins when earlier requests were still to be answered"
	}
	return ""
}
