package selective

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Kind is the kind of answer that an arrival draws. ACKs may be merged: one ACK answers all arrivals that it covers.
type Kind uint8

// The kinds; a later ACK may stand in for those up to ACK.
const (
	Silence Kind = iota // no answer
	MayACK              // an ACK, or nothing
	ACK                 // an ACK
	MayName             // a selective acknowledgement that names the packet, or nothing
	Name                // a selective acknowledgement that names the packet
	Refusal             // an RNR NAK
	Unknown             // unknown
)

// Answer is the answer that one arrival draws. Why is the scheme's reason for it.
type Answer[Why any] struct {
	Kind  Kind
	Why   Why
	Pkt   roce.Packet // the packet that arrived, without payload
	Next  psn.PSN     // expected PSN after the arrival
	MSN   psn.MSN     // MSN after the arrival
	At    vtime.Time
	Index uint64

	passed    int  // answers by name to later arrivals that have left before the answer
	Homeless  bool // no receive was posted for the packet when it passed the tap
	Duplicate bool // the packet precedes the expected PSN
}

// Named returns the PSN of the packet that arrived, which a selective acknowledgement names.
func (a *Answer[_]) Named() psn.PSN { return a.Pkt.PSN }

// answeredBy reports whether an ACK of all PSNs up to last is the answer that this arrival draws.
func (a *Answer[_]) answeredBy(last psn.PSN) bool {
	return (a.Kind == ACK || a.Kind == MayACK) && a.Next.Prev() == last
}

// Receiver compares the answers that leave a receiver with the packets that have reached it: requests, or READ
// responses in a PSN space of their own. Package rule gives the Relation of an arrival; the scheme's Draws gives the
// answer that it draws.
//
// After a refusal, and after packets whose order a tap cannot tell, nothing is compared until everything that arrived
// is acknowledged.
type Receiver[Why any] struct {
	Draws func(s *rule.Sight) (Kind, Why)
	// Match is called for each answer that was due, with the packet that was sent, or nil when the answer was skipped,
	// came too late, or never came.
	Match func(want *Answer[Why], sent *rule.Sight)

	// NAKs reports that the scheme has sequence NAKs beside selective acknowledgements.
	NAKs  bool
	Blind bool          // answers are not compared at present
	Want  []Answer[Why] // answers that are due and have not left, oldest first

	c      *rule.Context
	blame  rule.Blame  // the receiver: the responder, or the requester for READ responses
	in     trace.Point // the point at which its packets arrive
	open   bool        // Next and MSN of the newest of Want are not set yet; the next sight sets them
	begun  bool        // a packet has arrived
	newest psn.PSN     // newest PSN that has arrived
	last   vtime.Time  // latest arrival
	more   repeats     // further ACKs that may follow the latest one
	again  int         // duplicates whose answers are not compared: each may still draw an ACK
}

// mostWanted bounds Want.
const mostWanted = 1 << 16

// OfRequests returns the Receiver of requests.
func OfRequests[Why any](c *rule.Context, draws func(s *rule.Sight) (Kind, Why)) *Receiver[Why] {
	return &Receiver[Why]{Draws: draws, c: c, Blind: !c.Known, blame: rule.Responder, in: trace.ResponderIn,
		last: vtime.Never}
}

// OfData returns the Receiver of READ responses.
func OfData[Why any](c *rule.Context, draws func(s *rule.Sight) (Kind, Why)) *Receiver[Why] {
	return &Receiver[Why]{Draws: draws, c: c, Blind: !c.Known, blame: rule.Requester, in: trace.RequesterIn,
		last: vtime.Never}
}

// Check returns the check that compares answers.
func (r *Receiver[Why]) Check(match func(want *Answer[Why], sent *rule.Sight)) rule.Check {
	r.Match = match
	return rule.Check{Sight: func(s *rule.Sight) { r.Sight(s) }, End: r.End}
}

// Sight records an arrival, or compares an answer that leaves. It returns false for an answer that no arrival has
// drawn.
func (r *Receiver[Why]) Sight(s *rule.Sight) bool {
	if s.Relation == rule.Released {
		return true
	}
	r.settle()
	ofData := s.Pkt.Opcode.NumberedApart()
	switch {
	case ofData != (r.in == trace.RequesterIn):
	case r.c.Fatal || r.c.Failed && ofData:
		r.forget()
	case s.Point == r.in && s.Intact() && r.c.Addressed(s):
		r.arrive(s)
	case s.Out && s.Point.AtRequester() == r.in.AtRequester():
		return r.answered(s)
	}
	return true
}

// settle sets Next and MSN of the newest arrival.
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

// forget stops comparing, until everything that has arrived is acknowledged.
func (r *Receiver[_]) forget() { r.Blind, r.open, r.Want = true, false, r.Want[:0] }

func (r *Receiver[Why]) arrive(s *rule.Sight) {
	if !r.begun {
		r.begun, r.newest = true, s.Pkt.PSN
		// The first response that arrives need not be the first that was sent.
		r.Blind = r.Blind || r.in == trace.RequesterIn && !r.c.Offers(rule.TapResponder)
	}
	r.newest = psn.Max(r.newest, s.Pkt.PSN)
	together := s.Together(r.last) // packets of one instant have no known order
	r.last = s.At
	kind, why := r.Draws(s)
	if (r.Blind || together) && s.Relation == rule.Duplicate {
		r.again++
	}
	switch {
	case together || kind == Unknown || len(r.Want) == mostWanted:
		r.forget()
	case !r.Blind:
		pkt := roce.Packet{BTH: s.Pkt.BTH, SO: s.Pkt.SO}
		r.Want = append(r.Want, Answer[Why]{Kind: kind, Why: why, Pkt: pkt, At: s.At, Index: s.Index,
			Homeless: r.c.Homeless(s.Pkt), Duplicate: s.Relation == rule.Duplicate})
		r.open, r.Blind = true, kind == Refusal
	}
}

// answered compares an answer that leaves.
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
	case rule.IsNAK(p) && !r.NAKs:
		return r.unnamed(s)
	case p.Opcode == roce.Acknowledge:
		r.refused(s)
	}
	return true
}

// unnamed compares a sequence NAK of a scheme without them. It stands in the place of the selective acknowledgement
// that the oldest early arrival draws.
func (r *Receiver[Why]) unnamed(s *rule.Sight) bool {
	for i := range r.Want {
		if w := r.Want[i]; w.Kind == Name {
			r.strike(i)
			r.match(&w, s)
			return true
		}
	}
	return r.Blind
}

// housed reports whether an arrival had no receive when it passed the tap and has one now: the receiver may have
// processed it after the receive was posted.
func (r *Receiver[Why]) housed(w *Answer[Why]) bool { return w.Homeless && !r.c.Homeless(&w.Pkt) }

// selective finds the arrival that a selective acknowledgement answers; the answers to earlier arrivals have been
// skipped. A MayACK may still be followed by its ACK, which waits to be merged.
func (r *Receiver[Why]) selective(s *rule.Sight) bool {
	for i := range r.Want {
		if at := &r.Want[i]; at.Kind != MayACK && named(at, s.Pkt) {
			w := *at
			r.passOver(i, s)
			r.match(&w, s)
			return true
		}
	}
	return r.unearned(s)
}

// unearned compares a selective acknowledgement that no arrival draws. It stands in the place of the ACK of a run that
// ends before the PSN that it expects, and an FNACK in that of the ACK of a duplicate that it names.
func (r *Receiver[Why]) unearned(s *rule.Sight) bool {
	p := s.Pkt
	for i := range r.Want {
		w := r.Want[i]
		run := w.Kind == ACK && !w.Duplicate && w.Next == p.PSN
		again := p.Opcode == roce.FNACK && w.Duplicate && w.Named() == p.SACK.PSN
		if run || again {
			r.passOver(i, s)
			r.match(&w, s)
			return true
		}
	}
	return r.Blind
}

// named reports whether a selective acknowledgement is the answer to an arrival: it names the arrival, or it stands in
// the place of the ACK of a run, because what it names is part of what it acknowledges.
func named[Why any](a *Answer[Why], p *roce.Packet) bool {
	return a.Named() == p.SACK.PSN || a.Kind == ACK && !a.Duplicate && a.Next == p.PSN && p.SACK.PSN.Less(p.PSN)
}

// passOver removes the first i+1 arrivals, the last of which is answered by name. It keeps an ACK that acknowledges no
// more than that answer does: it may wait, for the line or as one that is coalesced, and be merged with a later one.
func (r *Receiver[_]) passOver(i int, s *rule.Sight) {
	kept := r.Want[:0]
	for k := range r.Want[:i] {
		w := &r.Want[k]
		switch {
		case r.waits(w, s):
			w.passed++
			kept = append(kept, *w)
			continue
		case w.Kind == MayACK:
			r.more.add(w.Next.Prev(), 1)
		}
		r.missing(w)
	}
	r.Want = append(kept, r.Want[i+1:]...)
}

// heldBack is how many answers by name may leave before an ACK that is coalesced; devices coalesce fewer.
const heldBack = 16

// waits reports whether an ACK may still leave after an answer by name that acknowledges as much.
func (r *Receiver[Why]) waits(w *Answer[Why], s *rule.Sight) bool {
	if w.Kind != ACK || s.Pkt.PSN.Less(w.Next) {
		return false
	}
	port := w.Duplicate && w.Next == s.Pkt.PSN && !r.c.Late(r.blame, w.At, 0, s.At)
	return port || w.passed < heldBack && !r.c.Late(r.blame, w.At, rule.Patience, s.At)
}

// match calls Match for an answer, unless its arrival is housed.
func (r *Receiver[Why]) match(w *Answer[Why], s *rule.Sight) {
	if !r.housed(w) {
		r.Match(w, s)
	}
}

// missing reports an answer that was skipped, unless it is optional.
func (r *Receiver[Why]) missing(w *Answer[Why]) {
	if w.Kind != MayACK && w.Kind != MayName {
		r.match(w, nil)
	}
}

// covers compares an ACK of all PSNs up to last. An ACK of everything that has arrived ends Blind; those of duplicates
// may follow it.
func (r *Receiver[_]) covers(s *rule.Sight, last psn.PSN) bool {
	fits := r.cumulative(s, last)
	if r.Blind && last == r.newest && r.expected() == last.Next() {
		r.Blind, r.Want = false, r.Want[:0]
		r.more.add(last, r.again)
		r.again = 0
	}
	return fits
}

// cumulative finds the arrivals at the head of Want that an ACK of all PSNs up to last answers.
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

// accept takes an ACK as the answer to the first i+1 arrivals, except those that an ACK cannot answer and those whose
// answer is overdue.
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

// wrong reports an ACK that answers none of the first n arrivals, as the wrong answer to an arrival that it covers, or
// to one that must be named.
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

// refused compares a NAK, after which the receiver starts again.
func (r *Receiver[Why]) refused(s *rule.Sight) {
	for i := range r.Want {
		if w := r.Want[i]; w.Named() == s.Pkt.PSN {
			r.Match(&w, s)
			break
		}
	}
	r.forget()
}

// strike removes the first i+1 answers.
func (r *Receiver[_]) strike(i int) { r.Want = r.Want[:copy(r.Want, r.Want[i+1:])] }

// End reports the answers that never left although there was time.
func (r *Receiver[Why]) End(at vtime.Time) {
	for r.settle(); len(r.Want) > 0; r.strike(0) {
		w := &r.Want[0]
		if w.Kind == Silence || !r.c.Failed && !r.c.Fatal && r.c.Late(r.blame, w.At, rule.Patience, at) {
			r.missing(w)
		}
	}
}

// repeats counts the further ACKs of one PSN that may still leave. Each duplicate draws an ACK, which may be merged
// with the one before. An ACK that answers several arrivals may therefore be the first of as many ACKs, and the others
// may leave when the PSN is no longer the newest.
type repeats struct {
	psn  psn.PSN // last PSN that the ACKs acknowledge
	left int     // number of ACKs that may still leave
}

func (r *repeats) add(p psn.PSN, n int) {
	if p != r.psn {
		r.psn, r.left = p, 0
	}
	r.left += n
}

// take reports whether an ACK of p may be one of them, and if so counts it.
func (r *repeats) take(p psn.PSN) bool {
	if p != r.psn || r.left == 0 {
		return false
	}
	r.left--
	return true
}
