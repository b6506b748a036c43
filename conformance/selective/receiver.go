package selective

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Kind is what an arrival draws. ACKs may be merged: one answers for all that it covers.
type Kind uint8

// The kinds, those that an ACK may pass over first.
const (
	Silence Kind = iota // no answer
	MayACK              // an ACK, or nothing
	ACK                 // an ACK
	MayName             // a selective acknowledgement that names the packet, or nothing
	Name                // a selective acknowledgement that names the packet
	Refusal             // an RNR NAK
	Unknown             // nobody can tell what
)

// Answer is what one arrival draws. Why is the scheme's reason.
type Answer[Why any] struct {
	Kind  Kind
	Why   Why
	Pkt   roce.Packet // what arrived, without payload
	Next  psn.PSN     // the expected PSN after it
	MSN   psn.MSN     // after it
	At    vtime.Time
	Index uint64

	Homeless  bool // it had no receive when it passed the tap
	Duplicate bool // it came before the expected one
}

// Named returns the PSN of what arrived.
func (a *Answer[_]) Named() psn.PSN { return a.Pkt.PSN }

// answeredBy reports whether an ACK of everything up to last says what this arrival has to draw.
func (a *Answer[_]) answeredBy(last psn.PSN) bool {
	return (a.Kind == ACK || a.Kind == MayACK) && a.Next.Prev() == last
}

// Receiver holds the answers that leave a receiver against what has reached it: requests, or READ responses that are
// numbered apart. The observer tells where an arrival stands; what that draws is the scheme's.
//
// After a refusal, and where a tap cannot tell in which order packets came, nothing is compared until everything is
// acknowledged.
type Receiver[Why any] struct {
	Draws func(s *rule.Sight) (Kind, Why)
	// Match is called for each answer: with what was sent, or nil when it was passed over, came too late, or never
	// came.
	Match func(want *Answer[Why], sent *rule.Sight)

	Blind bool          // nothing is compared
	Want  []Answer[Why] // and has not come, oldest first

	c      *rule.Context
	blame  rule.Blame  // the receiver: the responder, or of READ responses the requester
	in     trace.Point // where what it receives arrives
	open   bool        // Next and MSN of the newest of Want show with the next sight
	begun  bool        // something has arrived
	newest psn.PSN     // newest PSN that has arrived
	last   vtime.Time  // latest arrival
	more   repeats     // of the latest ACK
}

// mostWanted bounds the answers that are waited for.
const mostWanted = 1 << 16

// OfRequests returns the receiver of requests, and OfData that of READ responses.
func OfRequests[Why any](c *rule.Context, draws func(s *rule.Sight) (Kind, Why)) *Receiver[Why] {
	return &Receiver[Why]{Draws: draws, c: c, Blind: !c.Known, blame: rule.Responder, in: trace.ResponderIn,
		last: vtime.Never}
}

// OfData is OfRequests for READ responses.
func OfData[Why any](c *rule.Context, draws func(s *rule.Sight) (Kind, Why)) *Receiver[Why] {
	return &Receiver[Why]{Draws: draws, c: c, Blind: !c.Known, blame: rule.Requester, in: trace.RequesterIn,
		last: vtime.Never}
}

// Check is the check that compares answers.
func (r *Receiver[Why]) Check(match func(want *Answer[Why], sent *rule.Sight)) rule.Check {
	r.Match = match
	return rule.Check{Sight: func(s *rule.Sight) { r.Sight(s) }, End: r.End}
}

// Sight takes an arrival, or compares what leaves. It returns false for an answer that nothing has drawn.
func (r *Receiver[Why]) Sight(s *rule.Sight) bool {
	if s.Relation == rule.Released {
		return true
	}
	r.settle()
	ofData := s.Pkt.Opcode.NumberedApart()
	switch {
	case ofData != (r.in == trace.RequesterIn):
	case r.c.Fatal || r.c.Failed && ofData:
		r.Forget()
	case s.Point == r.in && s.Intact() && r.c.Addressed(s):
		r.arrive(s)
	case s.Out && s.Point.AtRequester() == r.in.AtRequester():
		return r.answered(s)
	}
	return true
}

// settle notes what is expected after the newest arrival.
func (r *Receiver[_]) settle() {
	if r.open {
		w := &r.Want[len(r.Want)-1]
		w.Next, w.MSN, r.open = r.expected(), r.c.MSN, false
	}
}

func (r *Receiver[_]) expected() psn.PSN {
	if r.in == trace.RequesterIn {
		return r.c.Reads.EPSN
	}
	return r.c.EPSN
}

// Forget stops comparing, until everything that has arrived is acknowledged.
func (r *Receiver[_]) Forget() { r.Blind, r.open, r.Want = true, false, r.Want[:0] }

func (r *Receiver[Why]) arrive(s *rule.Sight) {
	if !r.begun {
		r.begun, r.newest = true, s.Pkt.PSN
		// The first response that arrives need not be the first.
		r.Blind = r.Blind || r.in == trace.RequesterIn && !r.c.Offers(rule.TapResponder)
	}
	r.newest = psn.Max(r.newest, s.Pkt.PSN)
	together := s.Together(r.last) // packets of one instant have no order that a tap can tell
	r.last = s.At
	kind, why := r.Draws(s)
	switch {
	case together || kind == Unknown || len(r.Want) == mostWanted:
		r.Forget()
	case !r.Blind:
		pkt := roce.Packet{BTH: s.Pkt.BTH, SO: s.Pkt.SO}
		r.Want = append(r.Want, Answer[Why]{Kind: kind, Why: why, Pkt: pkt, At: s.At, Index: s.Index,
			Homeless: r.c.Homeless(s.Pkt), Duplicate: s.Relation == rule.Duplicate})
		r.open, r.Blind = true, kind == Refusal
	}
}

// answered compares what leaves.
func (r *Receiver[Why]) answered(s *rule.Sight) bool {
	p := s.Pkt
	apart := p.Opcode.IsReadAck()
	switch {
	case apart && p.SACK.PSN == p.PSN:
		return r.covers(s, p.PSN.Prev())
	case apart, rule.Selective(p):
		return r.selective(s)
	case rule.IsACK(p), p.Opcode == roce.AtomicAck:
		return r.covers(s, p.PSN)
	case p.Opcode == roce.Acknowledge:
		r.refused(s)
	}
	return true
}

// housed reports an arrival that had no receive when it passed the tap, and has one now: the receiver may have looked
// at it since.
func (r *Receiver[Why]) housed(w *Answer[Why]) bool { return w.Homeless && !r.c.Homeless(&w.Pkt) }

// selective finds the arrival that an answer names; those before it have been passed over. An ACK that waits for others
// to go with it may follow.
func (r *Receiver[Why]) selective(s *rule.Sight) bool {
	for i := range r.Want {
		if at := &r.Want[i]; at.Named() == s.Pkt.SACK.PSN && at.Kind != MayACK {
			w := *at
			r.passOver(i, s)
			r.match(&w, s)
			return true
		}
	}
	return r.Blind
}

// passOver takes out the first i+1 arrivals, of which the last is answered by name. The ACK of a duplicate, which says
// no more than that answer, may wait for the line, and leave with a later one.
func (r *Receiver[_]) passOver(i int, s *rule.Sight) {
	kept := r.Want[:0]
	for k := range r.Want[:i] {
		w := &r.Want[k]
		switch {
		case w.Duplicate && w.Kind == ACK && w.Next == s.Pkt.PSN && !r.c.Late(r.blame, w.At, 0, s.At):
			kept = append(kept, *w)
			continue
		case w.Kind == MayACK:
			r.more.add(w.Next.Prev(), 1)
		}
		r.missing(w)
	}
	r.Want = append(kept, r.Want[i+1:]...)
}

// match compares an answer with what it seems to answer, or nothing.
func (r *Receiver[Why]) match(w *Answer[Why], s *rule.Sight) {
	if !r.housed(w) {
		r.Match(w, s)
	}
}

// missing reports what was passed over.
func (r *Receiver[Why]) missing(w *Answer[Why]) {
	if w.Kind != MayACK && w.Kind != MayName {
		r.match(w, nil)
	}
}

// covers takes an ACK of everything up to last. One of all that has arrived ends blindness.
func (r *Receiver[_]) covers(s *rule.Sight, last psn.PSN) bool {
	fits := r.cumulative(s, last)
	if r.Blind && last == r.newest && r.expected() == last.Next() {
		r.Blind, r.Want = false, r.Want[:0]
	}
	return fits
}

// cumulative lets an ACK of everything up to last answer the arrivals at the head.
func (r *Receiver[Why]) cumulative(s *rule.Sight, last psn.PSN) bool {
	n, hit := 0, -1
	for n < len(r.Want) && (r.Want[n].Kind <= ACK || r.Want[n].Next.LessEq(last)) {
		if w := &r.Want[n]; w.answeredBy(last) {
			hit = n
		}
		n++
	}
	switch {
	case hit >= 0:
		r.accept(hit, s, last)
	case !r.more.take(last):
		return r.wrong(n, s, last)
	}
	return true
}

// accept takes an ACK for the answer to the first i+1 arrivals, but for those that it cannot answer, or whose own
// should have left long before.
func (r *Receiver[Why]) accept(i int, s *rule.Sight, last psn.PSN) {
	alike := 0
	for k := range r.Want[:i+1] {
		w := &r.Want[k]
		if w.answeredBy(last) {
			alike++
		}
		if w.Kind == ACK && !r.c.Late(r.blame, w.At, rule.Patience, s.At) {
			r.Match(w, s)
		} else {
			r.missing(w)
		}
	}
	r.more.add(last, alike-1)
	r.strike(i)
}

// wrong reports an ACK that answers none of the first n arrivals, as that of the one which it seems to answer: one that
// it covers, or the next, which wants to be named.
func (r *Receiver[Why]) wrong(n int, s *rule.Sight, last psn.PSN) bool {
	for i := range r.Want[:min(n+1, len(r.Want))] {
		w := r.Want[i]
		if i < n && w.Kind == ACK && w.Named().LessEq(last) || w.Kind >= Name &&
			(w.Named() == last || i == n && w.Next == last.Next()) {
			r.strike(i)
			r.match(&w, s)
			return true
		}
	}
	return r.Blind || last.Less(r.expected())
}

// refused compares a NAK, after which the receiver does not go on as before.
func (r *Receiver[Why]) refused(s *rule.Sight) {
	for i := range r.Want {
		if w := r.Want[i]; w.Named() == s.Pkt.PSN {
			r.Match(&w, s)
			break
		}
	}
	r.Forget()
}

// strike takes the first i+1 answers out.
func (r *Receiver[_]) strike(i int) { r.Want = r.Want[:copy(r.Want, r.Want[i+1:])] }

// End reports what never came although there was time.
func (r *Receiver[Why]) End(at vtime.Time) {
	for r.settle(); len(r.Want) > 0; r.strike(0) {
		w := &r.Want[0]
		if w.Kind == Silence || !r.c.Failed && !r.c.Fatal && r.c.Late(r.blame, w.At, rule.Patience, at) {
			r.missing(w)
		}
	}
}

// repeats counts the ACKs of one PSN that may still come: each duplicate draws its own, unless it is merged with the
// one before it. An ACK that answers for several may be the first of so many; by the time of the others what they name
// may have been passed.
type repeats struct {
	psn  psn.PSN // newest PSN that they cover
	left int     // how many may come
}

func (r *repeats) add(p psn.PSN, n int) {
	if p != r.psn {
		r.psn, r.left = p, 0
	}
	r.left += n
}

// take reports whether an ACK may be one of them, and counts it.
func (r *repeats) take(p psn.PSN) bool {
	if p != r.psn || r.left == 0 {
		return false
	}
	r.left--
	return true
}
