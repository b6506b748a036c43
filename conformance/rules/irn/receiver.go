package irn

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// cause is why a receiver answers as it does.
type cause uint8

const (
	plain    cause = iota // in order with nothing missing: the ACK may be merged with later ones
	ordered               // in order with packets kept behind it that are not next: an ACK
	fills                 // in order, and what was kept behind it is next: an ACK of all of it
	old                   // before the expected one: an ACK
	ahead                 // out of order and new: a NACK
	repeated              // out of order and kept already: the NACK again
	notReady              // in order, but without its receive: an RNR NAK
	homeless              // out of order, and without its receive: nothing
	beyond                // farther ahead than the bitmap reaches: nothing
)

// silent reports a cause that draws no answer.
func (w cause) silent() bool { return w == homeless || w == beyond }

// acked reports a cause that draws an ACK.
func (w cause) acked() bool { return w <= old }

// answer is what a receiver has to send for one arrival.
type answer struct {
	why   cause
	named psn.PSN     // the packet that arrived
	pkt   roce.Packet // the same, as far as it says which receive it is for
	next  psn.PSN     // the expected one after it
	since psn.PSN     // of a run of plain arrivals: the expected one after the first that is not acknowledged
	msn   psn.MSN     // after it
	alike int         // of a run of READ responses: the arrivals, duplicates but for the first, after which next was the expected one
	at    vtime.Time
	index uint64
}

// repeats counts the ACKs of one PSN that may still come: each duplicate draws its own, unless it is merged with the one before it. An
// ACK that answers for several may be the first of so many; by the time of the others what they name may have been passed.
type repeats struct {
	psn  psn.PSN
	left int
}

// add notes that an ACK of p has been taken for the answer to n arrivals.
func (r *repeats) add(p psn.PSN, n int) {
	if p != r.psn {
		r.psn, r.left = p, 0
	}
	r.left += max(0, n-1)
}

// take reports whether an ACK of p may be one of the others, and counts it.
func (r *repeats) take(p psn.PSN) bool {
	if p != r.psn || r.left == 0 {
		return false
	}
	r.left--
	return true
}

// kind is what the two bits of the 2-bitmap say of a packet: "the 2-bitmap tracks whether a packet arrived and whether it is
// the last packet of a message that will trigger (1) an MSN update and in certain cases (2) a CQE" (IRN 5.3.3).
type kind uint8

const (
	absent   kind = 0b00
	middle   kind = 0b10
	last     kind = 0b01
	lastCQE  kind = 0b11
	kindBits      = 2
)

// kindOf returns the kind of a request: WRITE_LAST, WRITE_ONLY and READ_REQUEST count messages; the end of a SEND, and an
// immediate, complete a receive too.
func kindOf(o roce.Opcode) kind {
	switch {
	case !o.EndsMessage():
		return middle
	case o.IsSend(), o.HasImm():
		return lastCQE
	}
	return last
}

// receiver is the reference receiver (IRNH receiveData): expectedSeq, MSN and the 2-bitmap.
type receiver struct {
	reach    int
	next     psn.PSN
	msn      psn.MSN
	cqes     int // receives completed
	held     map[psn.PSN]kind
	homeless func(*roce.Packet) bool
}

// take moves the receiver past an arrival and says why it answers.
//
// "Upon every out-of-order packet arrival, an IRN receiver sends a NACK, which carries both the cumulative acknowledgment
// (indicating its expected sequence number) and the sequence number of the packet that triggered the NACK" (IRN 3.1).
func (r *receiver) take(p *roce.Packet) (why cause) {
	d, missing := p.PSN.Sub(r.next), r.homeless != nil && r.homeless(p)
	switch {
	case d < 0:
		return old
	case d >= r.reach:
		return beyond
	case d > 0 && r.held[p.PSN] != absent:
		return repeated
	case d > 0 && missing:
		return homeless
	case d > 0:
		r.held[p.PSN] = kindOf(p.Opcode)
		return ahead
	case missing && rule.TakesReceive(p.Opcode):
		return notReady
	}
	why = plain
	if len(r.held) > 0 {
		why = ordered
	}
	r.pass(kindOf(p.Opcode))
	for k := r.held[r.next]; k != absent; k = r.held[r.next] {
		why = fills
		delete(r.held, r.next)
		r.pass(k)
	}
	return why
}

// pass counts one packet whose turn has come.
func (r *receiver) pass(k kind) {
	r.next = r.next.Next()
	if k != middle {
		r.msn = r.msn.Next()
	}
	if k == lastCQE {
		r.cqes++
	}
}

// shown is how many PSNs the variable rcv_bitmap describes, the expected one first.
const shown = 31

// bitmap returns the two bits of each of them, the expected one in the lowest.
func (r *receiver) bitmap() (bits int64) {
	for i := range shown {
		bits |= int64(r.held[r.next.Add(i)]) << (kindBits * i)
	}
	return bits
}

// mirror runs the reference receiver over what reaches the responder, and compares the answers that leave it. match is
// called with what was wanted and what was sent, or nil when it was passed over.
type mirror struct {
	receiver
	c      *rule.Context
	match  func(want *answer, sent *rule.Sight)
	took   func(s *rule.Sight, why cause) // after every arrival, when not nil
	begun  bool
	newest psn.PSN
	last   vtime.Time
	blind  bool // the responder refused something: nothing is compared until it has caught up
	want   []answer
	more   repeats
}

func newMirror(c *rule.Context) *mirror {
	return &mirror{c: c, receiver: receiver{reach: capOf(c), held: map[psn.PSN]kind{}, homeless: c.Homeless}, last: vtime.Never,
		match: func(*answer, *rule.Sight) {}}
}

// mirrorRule makes a check that compares answers.
func mirrorRule(match func(c *rule.Context, want *answer, sent *rule.Sight)) func(*rule.Context) rule.Check {
	return func(c *rule.Context) rule.Check {
		m := newMirror(c)
		m.match = func(want *answer, sent *rule.Sight) { match(c, want, sent) }
		return rule.Check{Sight: m.sight, End: m.end}
	}
}

func (m *mirror) sight(s *rule.Sight) {
	switch {
	case m.c.Fatal:
		m.forget()
	case s.Point == trace.ResponderIn && s.Intact() && m.c.Addressed(s):
		m.arrive(s)
	case s.Point == trace.ResponderOut && !s.Pkt.Opcode.NumberedApart():
		m.answered(s)
	}
}

// forget stops comparing.
func (m *mirror) forget() {
	m.blind, m.want = true, m.want[:0]
	clear(m.held)
}

func (m *mirror) arrive(s *rule.Sight) {
	if !m.begun {
		m.begun, m.next, m.newest = true, m.c.Start, s.Pkt.PSN
	}
	m.newest = psn.Max(m.newest, s.Pkt.PSN)
	if s.Together(m.last) || s.Due() && !s.Legal {
		m.forget() // packets of one instant have no order that a tap can tell
	}
	if m.last = s.At; m.blind {
		return
	}
	a := answer{why: m.take(s.Pkt), named: s.Pkt.PSN, next: m.next, msn: m.msn, at: s.At, index: s.Index,
		pkt: roce.Packet{BTH: s.Pkt.BTH, SO: s.Pkt.SO}}
	if m.took != nil {
		m.took(s, a.why)
	}
	if len(m.want) == longest {
		m.forget()
		return
	}
	a.since = a.next
	if n := len(m.want); n > 0 && a.why == plain && m.want[n-1].why == plain {
		a.since = m.want[n-1].since
		m.want[n-1] = a
		return
	}
	m.want = append(m.want, a)
}

// answered compares what leaves the responder.
func (m *mirror) answered(s *rule.Sight) {
	p := s.Pkt
	switch {
	case m.blind:
		// An ACK of everything that has arrived: the machines agree again, but for what is counted.
		if rule.IsACK(p) && p.PSN == m.newest {
			m.blind, m.next, m.msn = false, p.PSN.Next(), p.AETH.MSN
		}
	case m.rehoused(s):
		m.forget()
	case rule.Selective(p):
		m.selective(s)
	case acknowledges(p):
		m.cumulative(s)
	case p.Opcode == roce.Acknowledge:
		m.refused(s)
	}
}

// rehoused reports a NACK of what had no receive when it passed the tap, and has one now: the responder looked at it later.
func (m *mirror) rehoused(s *rule.Sight) bool {
	return rule.Selective(s.Pkt) && slices.ContainsFunc(m.want, func(w answer) bool {
		return w.why == homeless && w.named == s.Pkt.SACK.PSN && !m.homeless(&w.pkt)
	})
}

// selective finds the arrival that a NACK names; those before it that wanted an answer have been passed over.
func (m *mirror) selective(s *rule.Sight) {
	for i := range m.want {
		if w := m.want[i]; w.named == s.Pkt.SACK.PSN && w.why != plain {
			m.pass(i)
			m.strike(0)
			m.match(&w, s)
			return
		}
	}
}

// cumulative lets an ACK answer the arrivals at the head of the queue. ACKs are merged, so it may answer several.
func (m *mirror) cumulative(s *rule.Sight) {
	n, hit := 0, -1
	for n < len(m.want) && (m.want[n].why.acked() || m.want[n].why.silent()) {
		w := &m.want[n]
		if w.why.acked() && w.next.Prev() == s.Pkt.PSN {
			hit = n
		} else if w.why == plain && s.Pkt.PSN.In(w.since.Prev(), w.next) {
			w.since = s.Pkt.PSN.Add(2) // the first of a run
			m.accept(n-1, s)
			return
		}
		n++
	}
	switch {
	case hit >= 0:
		m.accept(hit, s)
	case !m.more.take(s.Pkt.PSN):
		m.mismatched(n, s)
	}
}

// accept takes an ACK for the answer to the first i+1 arrivals.
func (m *mirror) accept(i int, s *rule.Sight) {
	alike := 0
	for _, w := range m.want[:i+1] {
		if w.why.acked() && w.next.Prev() == s.Pkt.PSN {
			alike++
		}
		switch late := m.c.Late(rule.Responder, w.at, rule.Patience, s.At); {
		case !w.why.acked():
		case late && w.why != plain:
			m.match(&w, nil) // the ACK is that of a later packet
		default:
			m.match(&w, s)
		}
	}
	m.more.add(s.Pkt.PSN, alike)
	m.strike(i)
}

// mismatched reports an ACK that answers none of the first n arrivals: as that of the one which it seems to answer.
func (m *mirror) mismatched(n int, s *rule.Sight) {
	for i := range n {
		if w := m.want[i]; w.why.acked() && w.why != plain && w.named.LessEq(s.Pkt.PSN) {
			m.strike(i)
			m.match(&w, s)
			return
		}
	}
	if len(m.want) > n && m.want[n].named == s.Pkt.PSN {
		w := m.want[n] // an ACK of what came out of order
		m.strike(n)
		m.match(&w, s)
	}
}

// refused compares a NAK, after which the responder does not go on as before.
func (m *mirror) refused(s *rule.Sight) {
	for i := range m.want {
		if w := m.want[i]; w.named == s.Pkt.PSN {
			m.match(&w, s)
			break
		}
	}
	m.forget()
}

// strike takes the first i+1 answers out.
func (m *mirror) strike(i int) { m.want = m.want[:copy(m.want, m.want[i+1:])] }

// pass reports what was wanted before the i-th answer and did not come.
func (m *mirror) pass(i int) {
	for k := range i {
		if w := m.want[k]; w.why != plain {
			m.match(&w, nil)
		}
	}
	m.want = m.want[:copy(m.want, m.want[i:])]
}

// end reports what never came although there was time.
func (m *mirror) end(at vtime.Time) {
	for i := range m.want {
		if w := &m.want[i]; w.why != plain && m.c.Late(rule.Responder, w.at, rule.Patience, at) && !m.c.Failed && !m.c.Fatal {
			m.match(w, nil)
		}
	}
}

const (
	answersTap = rule.TapResponder | rule.Attributes

	// sightsOfReceiver are what the mirror needs to see.
	sightsOfReceiver = rule.RequestIn | rule.ResponseOut
)

// nackedWhen judges the NACKs of one cause.
func nackedWhen(why cause) func(*rule.Context) rule.Check {
	return mirrorRule(func(c *rule.Context, want *answer, sent *rule.Sight) {
		switch {
		case want.why != why:
		case sent == nil:
			c.FailAt(want.at, want.index, rule.Responder, c.Rel(want.named)+" draws no NACK")
		case sent.Pkt.Opcode != roce.IRNNack:
			c.Failf(rule.Responder, "%s, which comes out of order, draws %v", c.Rel(want.named), sent.Pkt.Opcode)
		case sent.Pkt.PSN != want.next:
			c.Failf(rule.Responder, "the NACK of %s says that %s is expected, which is %s", c.Rel(want.named), c.Rel(sent.Pkt.PSN),
				c.Rel(want.next))
		default:
			c.Met()
		}
	})
}

// ackedWhen judges the ACKs of some causes.
func ackedWhen(which func(cause) bool) func(*rule.Context) rule.Check {
	return mirrorRule(func(c *rule.Context, want *answer, sent *rule.Sight) {
		switch {
		case !which(want.why):
		case sent == nil:
			c.FailAt(want.at, want.index, rule.Responder, c.Rel(want.named)+" draws no ACK")
		case !acknowledges(sent.Pkt):
			c.Failf(rule.Responder, "%s draws %v, not an ACK", c.Rel(want.named), sent.Pkt.Opcode)
		case sent.Pkt.PSN.Less(want.next.Prev()):
			c.Failf(rule.Responder, "the ACK for %s is of %s, not of %s", c.Rel(want.named), c.Rel(sent.Pkt.PSN), c.Rel(want.next.Prev()))
		default:
			c.Met()
		}
	})
}

func earlyNACKed() rule.Rule {
	return define(rule.Rule{
		ID: "IRN-SACK-001", Level: rule.Must,
		Title: "Every out-of-order arrival draws a NACK with the expected PSN and its own",
		Source: rule.Source{Ref: recovery, Requirement: "Upon every out-of-order packet arrival, an IRN receiver sends a NACK, which carries both " +
			"the cumulative acknowledgment (indicating its expected sequence number) and the sequence number of the packet that triggered " +
			"the NACK."},
		Needs: answersTap, Sees: sightsOfReceiver, Stimulus: "a lost packet with others behind it", New: nackedWhen(ahead),
	})
}

func inOrderACKed() rule.Rule {
	return define(rule.Rule{
		ID: "IRN-SACK-002", Level: rule.Must,
		Title:  "An in-order arrival draws an ACK, even while higher packets are kept",
		Source: rule.Source{Ref: hls, Requirement: "receiveData: a packet with the expected number is answered with an ACK, whatever the bitmap holds."},
		Needs:  answersTap, Sees: sightsOfReceiver, Stimulus: "lost packets with others behind them",
		New: ackedWhen(func(w cause) bool { return w == ordered || w == fills }),
	})
}

func duplicateACKed() rule.Rule {
	return define(rule.Rule{
		ID: "IRN-SACK-003", Level: rule.Must,
		Title:  "A duplicate, below the expected PSN, draws an ACK of all before the expected one",
		Source: rule.Source{Ref: hls, Requirement: "receiveData: a packet below the expected number is answered with an ACK of the expected number."},
		Needs:  answersTap, Sees: sightsOfReceiver, Stimulus: "a packet that comes twice",
		New: ackedWhen(func(w cause) bool { return w == old }),
	})
}

func earlyTwiceNACKed() rule.Rule {
	return define(rule.Rule{
		ID: "IRN-SACK-004", Level: rule.Must,
		Title:  "An out-of-order packet that comes twice draws the same NACK again, and changes nothing",
		Source: rule.Source{Ref: recovery + "; " + hls, Requirement: "Upon every out-of-order packet arrival, an IRN receiver sends a NACK."},
		Needs:  answersTap, Sees: sightsOfReceiver, Stimulus: "a lost packet, and a later one that comes twice",
		New: nackedWhen(repeated),
	})
}

func beyondDropped() rule.Rule {
	return define(rule.Rule{
		ID: "IRN-BMP-003", Level: rule.Must,
		Title: "A packet that is the cap or more ahead of the expected one is dropped",
		Source: rule.Source{Ref: bdp, Requirement: "The number of packets in flight is bounded by the BDP, and the bitmaps have that length: what lies " +
			"beyond has no place in them."},
		Needs: answersTap, Sees: sightsOfReceiver, Stimulus: "a packet that lies beyond the bitmap",
		New: silentWhen(beyond),
	})
}

func homelessDropped() rule.Rule {
	return define(rule.Rule{
		ID: "IRN-PLC-003", Level: rule.Must,
		Title: "An out-of-order SEND without a posted receive is dropped in silence; the one whose turn it is draws an RNR NAK",
		Source: rule.Source{Ref: "IRN 5", Requirement: "An out-of-order Send packet that finds no Receive WQE is dropped silently; the in-order one draws the " +
			"RNR NACK."},
		Needs: answersTap | rule.Completions, Sees: sightsOfReceiver, Stimulus: "more SENDs than receives, and a lost packet",
		New: func(c *rule.Context) rule.Check {
			m, s := newMirror(c), silentWhen(homeless)(c)
			met := false
			m.match = func(want *answer, sent *rule.Sight) {
				switch {
				case want.why != notReady:
				case sent == nil:
					c.FailAt(want.at, want.index, rule.Responder, c.Rel(want.named)+" has no receive and draws no RNR NAK")
				case !rule.IsRNR(sent.Pkt):
					c.Failf(rule.Responder, "%s has no receive and draws %v", c.Rel(want.named), sent.Pkt.Opcode)
				default:
					met = true
				}
			}
			return rule.Check{
				Event: s.Event,
				Sight: func(x *rule.Sight) { m.sight(x); s.Sight(x) },
				End: func(at vtime.Time) {
					m.end(at)
					s.End(at)
					if met {
						c.Met()
					}
				},
			}
		},
	})
}

// silentWhen makes a check of packets that are to be dropped without an answer. It looks at all NACKs and NAKs, for one
// that names such a packet, because the mirror drops what it does not expect.
func silentWhen(why cause) func(*rule.Context) rule.Check {
	return func(c *rule.Context) rule.Check {
		m := newMirror(c)
		dropped, settled := map[psn.PSN]bool{}, false
		m.took = func(s *rule.Sight, w cause) {
			delete(dropped, s.Pkt.PSN)
			if w == why {
				dropped[s.Pkt.PSN] = true
			}
		}
		return rule.Check{
			Sight: func(s *rule.Sight) {
				p := s.Pkt
				named := p.PSN
				if rule.Selective(p) {
					named = p.SACK.PSN
				}
				if s.Point == trace.ResponderOut && !p.Opcode.NumberedApart() && dropped[named] && !m.blind {
					delete(dropped, named)
					c.Failf(rule.Responder, "%s is to be dropped in silence and draws %v; silence expected", c.Rel(named), p.Opcode)
				}
				m.sight(s)
			},
			Event: func(e *trace.Event) {
				if why == homeless && e.Kind == trace.Receive && !c.Mine(e) {
					settled = settled || len(dropped) > 0
					clear(dropped) // who has not looked at them yet finds them a receive
				}
			},
			End: func(vtime.Time) {
				if settled || len(dropped) > 0 {
					c.Met()
				}
			},
		}
	}
}

func differential() rule.Rule {
	return define(rule.Rule{
		ID: "IRN-NRM-001", Level: rule.Must,
		Title: "Fed the same packets, the receiver gives the answers of the reference receiver, and no others",
		Source: rule.Source{Ref: hls, Requirement: "receiveData: ACK at or below the expected number, NACK above it, with the expected number after the " +
			"packet."},
		Needs: answersTap, Sees: sightsOfReceiver, Stimulus: "losses, and packets that come twice",
		New: func(c *rule.Context) rule.Check {
			m := newMirror(c)
			m.match = func(want *answer, sent *rule.Sight) {
				if sent == nil && !want.why.silent() {
					c.FailAt(want.at, want.index, rule.Responder, c.Rel(want.named)+" is not answered as by the reference")
				}
				if want.why == ahead || want.why == old {
					c.Met()
				}
			}
			return rule.Check{End: m.end, Sight: func(s *rule.Sight) {
				if s.Point == trace.ResponderOut && !m.blind && !m.c.Fatal {
					m.foreign(s)
				}
				m.sight(s)
			}}
		},
	})
}

// foreign reports an answer that no arrival wants, before it is matched.
func (m *mirror) foreign(s *rule.Sight) {
	p := s.Pkt
	switch {
	case p.Opcode.NumberedApart(), p.Opcode != roce.IRNNack && !rule.IsACK(p), m.rehoused(s):
		return
	case p.Opcode == roce.IRNNack:
		for _, w := range m.want {
			if (w.why == ahead || w.why == repeated) && w.named == p.SACK.PSN && w.next == p.PSN {
				return
			}
		}
	case p.PSN.Less(m.next):
		return
	}
	m.c.Failf(rule.Responder, "%v is not an answer of the reference to anything that arrived; none expected", p.Opcode)
}
