package fasr

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// cause is why a receiver answers as it does.
type cause uint8

const (
	voluntary cause = iota // an ACK that is allowed: in order without loss, or of a duplicate
	again                  // the SACK of the highest packet once more: allowed
	enters                 // the SACK that begins a recovery
	follows                // a SACK in recovery without a new gap
	gaps                   // a SACK in recovery that shows a new gap
	fills                  // the ACK of RCV-NXT filled on the fast path
	fillsSlow              // the same on the slow path
	passes                 // the FNACK of a packet below sack-high
)

// answer is what a receiver has to send.
type answer struct {
	why   cause
	psn   psn.PSN // as the BTH has it
	from  psn.PSN // of merged ACKs the oldest; one that was due may leave when more has arrived
	named psn.PSN // SACKETH
	lost  int
	over  bool
	at    vtime.Time
	index uint64
}

// mirror is the reference receiver: it takes the requests that reach the responder and knows what has to be answered, in
// order. Answers are compared when they leave; match is called with what was wanted and what was sent, or nil when it was
// passed over.
type mirror struct {
	c          *rule.Context
	match      func(want *answer, sent *rule.Sight)
	known      bool
	next, high psn.PSN
	newest     psn.PSN // highest that arrived at all
	held       map[psn.PSN]bool
	recovering bool
	count      int
	over       bool
	last       vtime.Time
	blind      bool // the responder went back N, or refused: nothing is compared until it has caught up
	want       []answer
}

// mirrorRule makes a check that compares answers.
func mirrorRule(match func(c *rule.Context, want *answer, sent *rule.Sight)) func(*rule.Context) rule.Check {
	return func(c *rule.Context) rule.Check {
		m := newMirror(c)
		m.match = func(want *answer, sent *rule.Sight) { match(c, want, sent) }
		return rule.Check{Sight: m.sight, End: m.end}
	}
}

func newMirror(c *rule.Context) *mirror {
	return &mirror{c: c, held: map[psn.PSN]bool{}, last: vtime.Never}
}

func (m *mirror) sight(s *rule.Sight) {
	switch {
	case m.c.Fatal:
		m.forget()
	case s.Point == trace.ResponderIn && s.Intact() && m.c.Addressed(s) && s.Pkt.Opcode.Class() == roce.ClassF:
		m.arrive(s)
	case s.Point == trace.ResponderOut:
		m.answered(s)
	}
}

// forget stops comparing.
func (m *mirror) forget() {
	m.blind, m.recovering, m.want = true, false, m.want[:0]
	clear(m.held)
}

// arrive moves the machine past a request (FaSR III-B1, III-D).
func (m *mirror) arrive(s *rule.Sight) {
	p := s.Pkt.PSN
	if !m.known {
		m.known, m.next, m.newest = true, m.c.Start, p
	}
	m.newest = psn.Max(m.newest, p)
	if s.Together(m.last) {
		m.forget() // packets of one instant have no order that a tap can tell
	}
	m.last = s.At
	if m.blind || p.Sub(m.next) >= parameter(m.c, "window", 500) {
		return
	}
	a := answer{why: voluntary, named: p, at: s.At, index: s.Index}
	switch {
	case p == m.next:
		a.why = m.fill()
	case p.Less(m.next):
	case !m.recovering:
		a.why = enters
		m.recovering, m.high, m.over, m.count = true, p, false, 0
		m.add(p.Sub(m.next))
	case p == m.high:
		a.why = again
	case p.Less(m.high):
		a.why = passes
	default:
		if a.why = follows; p != m.high.Next() {
			a.why = gaps
		}
		m.add(p.Sub(m.high) - 1)
		m.high = p
	}
	if a.why == enters || a.why == follows || a.why == gaps {
		m.held[p] = true
	}
	a.psn, a.lost, a.over = m.next, m.count, m.over
	if a.why == voluntary || a.why == fills || a.why == fillsSlow {
		a.psn = m.next.Prev()
	}
	a.from = a.psn
	if n := len(m.want); n > 0 && a.why == voluntary && m.want[n-1].why == voluntary {
		a.from = m.want[n-1].from
		m.want[n-1] = a
		return
	}
	m.want = append(m.want, a)
}

func (m *mirror) add(missing int) {
	if m.count += missing; m.over || m.count > maxLost {
		m.count, m.over = maxLost, true
	}
}

// fill moves RCV-NXT over what is there.
func (m *mirror) fill() (why cause) {
	m.next = m.next.Next()
	if !m.recovering {
		return voluntary
	}
	why = fills
	if m.count > 1 || m.over {
		why = fillsSlow
	}
	for m.held[m.next] {
		delete(m.held, m.next)
		m.next = m.next.Next()
	}
	if !m.over {
		m.count--
	}
	m.recovering = !m.high.Less(m.next)
	return why
}

// answered compares what leaves the responder.
func (m *mirror) answered(s *rule.Sight) {
	p := s.Pkt
	switch {
	case m.blind:
		// An ACK of everything that has arrived: the machines agree again.
		if rule.IsACK(p) && p.PSN == m.newest {
			m.blind, m.next, m.recovering, m.count, m.over = false, p.PSN.Next(), false, 0, false
		}
	case isSACK(p) || p.Opcode == roce.FNACK:
		m.selective(s)
	case rule.IsACK(p):
		m.cumulative(s)
	case p.Opcode == roce.Acknowledge:
		m.forget() // a NAK: fallback, an RNR wait, or an error
	}
}

// selective finds the answer that names the same packet; those before it that were not optional have been passed over.
func (m *mirror) selective(s *rule.Sight) {
	for i := range m.want {
		w := &m.want[i]
		if w.named != s.Pkt.SACK.PSN || w.why == voluntary || w.why == fills || w.why == fillsSlow {
			continue
		}
		m.pass(i)
		first := m.want[0]
		m.want = m.want[:copy(m.want, m.want[1:])]
		m.match(&first, s)
		return
	}
}

// cumulative lets an ACK answer the fills at the head of the queue. ACKs are merged, so it may answer several.
func (m *mirror) cumulative(s *rule.Sight) {
	n, hit := 0, -1
	for n < len(m.want) && (m.want[n].why == voluntary || m.want[n].why == fills || m.want[n].why == fillsSlow) {
		if m.want[n].from.LessEq(s.Pkt.PSN) && s.Pkt.PSN.LessEq(m.want[n].psn) {
			hit = n
		}
		n++
	}
	if hit >= 0 {
		if m.want[hit].psn == s.Pkt.PSN {
			hit++ // nothing of it is left
		}
		m.want = m.want[:copy(m.want, m.want[hit:])]
		return
	}
	// An ACK from before the fill names less than the packet that filled.
	for i := range n {
		if w := m.want[i]; w.why != voluntary && w.named.LessEq(s.Pkt.PSN) {
			m.match(&w, s)
			m.want = m.want[:copy(m.want, m.want[i+1:])]
			return
		}
	}
}

// pass reports what was wanted before the i-th answer and did not come.
func (m *mirror) pass(i int) {
	for k := range i {
		if w := m.want[k]; w.why != voluntary && w.why != again {
			m.match(&w, nil)
		}
	}
	m.want = m.want[:copy(m.want, m.want[i:])]
}

// end reports what never came although there was time.
func (m *mirror) end(at vtime.Time) {
	for i := range m.want {
		if w := &m.want[i]; w.why != voluntary && w.why != again && m.c.Late(rule.Responder, w.at, rule.Patience, at) && !m.c.Failed {
			m.match(w, nil)
		}
	}
}

const answersTap = rule.TapResponder | rule.Attributes

// sightsOfReceiver are what the mirror needs to see.
const sightsOfReceiver = rule.RequestIn | rule.ResponseOut

// wrongCount judges the lost-cnt of the SACKs of one cause.
func wrongCount(which func(cause) bool) func(*rule.Context) rule.Check {
	return mirrorRule(func(c *rule.Context, want *answer, sent *rule.Sight) {
		if sent == nil || !which(want.why) || !isSACK(sent.Pkt) {
			return
		}
		c.Met()
		if got := int(sent.Pkt.SACK.LostCnt); got != want.lost {
			c.Failf(rule.Responder, "SACK of %s has lost-cnt %d; missing below it are %d", c.Rel(want.named), got, want.lost)
		}
	})
}

func enterCounts() rule.Rule {
	return define(rule.Rule{
		ID: "FASR-LC-001", Level: rule.Must,
		Title: "The first packet out of order makes lost-cnt the distance from RCV-NXT to it",
		Source: rule.Source{Ref: "FASR III-B1", Requirement: "In the normal state, lost-cnt will increase according to the interval between " +
			"PSN and RCV-NXT."},
		Needs: answersTap, Sees: sightsOfReceiver, Stimulus: "one to eight lost packets in a row",
		New: wrongCount(func(w cause) bool { return w == enters }),
	})
}

func gapCounts() rule.Rule {
	return define(rule.Rule{
		ID: "FASR-LC-002", Level: rule.Must,
		Title: "In recovery, a new highest PSN adds to lost-cnt what lies between it and sack-high",
		Source: rule.Source{Ref: "FASR III-B1", Requirement: "In the loss recovery state, lost-cnt will increase according to the interval " +
			"between PSN and sack-high."},
		Needs: answersTap, Sees: sightsOfReceiver, Stimulus: "two separate losses in one recovery",
		New: wrongCount(func(w cause) bool { return w == gaps }),
	})
}

func sackCarriesCount() rule.Rule {
	return define(rule.Rule{
		ID: "FASR-LC-004", Level: rule.Must,
		Title: "Every packet out of order that is recorded draws a SACK with the lost-cnt after it",
		Source: rule.Source{Ref: "FASR III-B1", Requirement: "lost-cnt will be piggy-backed in SACK packet (extended header) and returned to " +
			"the sender."},
		Needs: answersTap, Sees: sightsOfReceiver, Stimulus: "lost packets followed by others",
		New: mirrorRule(func(c *rule.Context, want *answer, sent *rule.Sight) {
			if want.why != enters && want.why != follows && want.why != gaps {
				return
			}
			c.Met()
			switch {
			case sent == nil:
				c.FailAt(want.at, want.index, rule.Responder, c.Rel(want.named)+" draws no SACK")
			case isSACK(sent.Pkt) && int(sent.Pkt.SACK.LostCnt) != want.lost:
				c.Failf(rule.Responder, "SACK of %s has lost-cnt %d; after it %d are missing", c.Rel(want.named),
					sent.Pkt.SACK.LostCnt, want.lost)
			}
		}),
	})
}

func overflowOpcode() rule.Rule {
	return define(rule.Rule{
		ID: "FASR-LC-006", Level: rule.Must,
		Title:  "After an overflow of lost-cnt, and only then, SACKs have the opcode that says so",
		Source: rule.Source{Ref: "FASR IV-D", Requirement: "The lost-cnt overflow flag is marked using the unused op-type value."},
		Needs:  answersTap, Sees: sightsOfReceiver, Stimulus: "nine lost packets in a row",
		New: mirrorRule(func(c *rule.Context, want *answer, sent *rule.Sight) {
			if sent == nil || !isSACK(sent.Pkt) || want.why == passes {
				return
			}
			over := sent.Pkt.Opcode == roce.FaSRSackOverflow
			if want.over {
				c.Met()
			}
			if over != want.over {
				c.Failf(rule.Responder, "%v of %s; missing are %d, overflow is %v", sent.Pkt.Opcode, c.Rel(want.named), want.lost, want.over)
			}
		}),
	})
}

func slowRecords() rule.Rule {
	return define(rule.Rule{
		ID: "FASR-SLOW-001", Level: rule.Must,
		Title: "On the slow path packets out of order are recorded, and a fill takes RCV-NXT to the first that is not",
		Source: rule.Source{Ref: "FASR III-B1", Requirement: "After receiving a retransmission packet, the bitmap is still queried to obtain the " +
			"updated value of RCV-NXT."},
		Needs: answersTap, Sees: sightsOfReceiver, Stimulus: "several lost packets with others between them",
		New: mirrorRule(func(c *rule.Context, want *answer, sent *rule.Sight) {
			if sent == nil {
				return
			}
			ack := want.why == fillsSlow && rule.IsACK(sent.Pkt)
			if ack || isSACK(sent.Pkt) && want.lost > 1 {
				c.Met()
				if sent.Pkt.PSN != want.psn {
					c.Failf(rule.Responder, "the answer to %s says %s; RCV-NXT makes it %s", c.Rel(want.named), c.Rel(sent.Pkt.PSN),
						c.Rel(want.psn))
				}
			}
		}),
	})
}

func fillAcknowledged() rule.Rule {
	return define(rule.Rule{
		ID: "FASR-ACK-001", Level: rule.Must,
		Title: "The packet that fills RCV-NXT in recovery is answered with an ACK, not with a SACK",
		Source: rule.Source{Ref: "FASR III-B1", Requirement: "The updated RCV-NXT is then sent back to the sender through an ACK " +
			"(AACK)."},
		Needs: answersTap, Sees: sightsOfReceiver, Stimulus: "a lost packet that is sent again",
		New: func(c *rule.Context) rule.Check {
			m := newMirror(c)
			m.match = func(want *answer, sent *rule.Sight) {
				if sent == nil && (want.why == fills || want.why == fillsSlow) {
					c.FailAt(want.at, want.index, rule.Responder, c.Rel(want.named)+" fills RCV-NXT and draws no ACK")
				}
			}
			return rule.Check{End: m.end, Sight: func(s *rule.Sight) {
				waits := len(m.want) > 0 && (m.want[0].why == fills || m.want[0].why == fillsSlow)
				m.sight(s)
				if waits && s.Point == trace.ResponderOut && rule.IsACK(s.Pkt) {
					c.Met()
				}
				if s.Point == trace.ResponderOut && isSACK(s.Pkt) && waits && s.Pkt.SACK.PSN.Less(m.next) {
					c.Failf(rule.Responder, "a SACK answers the fill of %s; an ACK expected", c.Rel(s.Pkt.SACK.PSN))
				}
			}}
		},
	})
}

func fnackNames() rule.Rule {
	return define(rule.Rule{
		ID: "FASR-FNK-001", Level: rule.Must,
		Title: "A packet between RCV-NXT and sack-high is dropped and answered with an FNACK that carries its PSN",
		Source: rule.Source{Ref: "FASR III-D", Requirement: "If the receiver receives a packet with a PSN smaller than sack-high and larger than " +
			"RCV-NXT, one retransmitted packet is considered lost. This packet will be discarded, and the PSN value is carried back in FNACK."},
		Needs: answersTap, Sees: sightsOfReceiver, Stimulus: "the first of several retransmissions lost",
		New: mirrorRule(func(c *rule.Context, want *answer, sent *rule.Sight) {
			switch {
			case want.why != passes:
				if sent != nil && sent.Pkt.Opcode == roce.FNACK {
					c.Failf(rule.Responder, "FNACK of %s, which is not below sack-high", c.Rel(want.named))
				}
			case sent == nil:
				c.FailAt(want.at, want.index, rule.Responder, c.Rel(want.named)+" is below sack-high and draws no FNACK")
			case sent.Pkt.Opcode != roce.FNACK:
				c.Failf(rule.Responder, "%s is below sack-high and draws %v", c.Rel(want.named), sent.Pkt.Opcode)
			default:
				c.Met()
			}
		}),
	})
}

func exhaustedGoesBack() rule.Rule {
	return define(rule.Rule{
		ID: "FASR-POOL-003", Level: rule.Must,
		Title: "A responder whose pool is exhausted goes back N: one NAK, and no SACK until the recovery is over",
		Source: rule.Source{Ref: "FASR III-D", Requirement: "When the bitmap is exhausted, FaSR automatically switches to GBN. [...] QP will not be " +
			"returned to SR until the loss recovery is completed."},
		Needs: rule.TapResponder, Sees: sightsOfReceiver, Stimulus: "a pool of one unit and two QPs that lose",
		New: func(c *rule.Context) rule.Check {
			var newest, asked, begun psn.PSN
			seen, back, acked := false, false, false
			return rule.Check{Sight: func(s *rule.Sight) {
				p := s.Pkt
				switch {
				case s.Point == trace.ResponderIn && s.Intact() && s.Relation == rule.Ahead:
					// What comes in its turn behind them is no part of the recovery. Nor is what comes ahead when all of them have
					// come: that begins another, although the answers of the one before may still be in the port.
					if !seen || newest.Less(c.EPSN) {
						seen, back, begun, newest = true, false, c.EPSN, p.PSN
					}
					newest = psn.Max(newest, p.PSN)
				case s.Point != trace.ResponderOut:
				case rule.IsNAK(p):
					c.Met()
					if back && !acked && p.PSN == asked {
						c.Failf(rule.Responder, "a second NAK of %s in one fallback; one expected", c.Rel(asked))
					}
					back, acked, asked = !seen || begun.LessEq(p.PSN), false, p.PSN
				case rule.IsACK(p):
					acked = acked || !p.PSN.Less(asked)
					back = back && p.PSN.Less(newest)
				case back && isSACK(p):
					c.Failf(rule.Responder, "SACK of %s in fallback to go-back-N; a NAK expected", c.Rel(p.SACK.PSN))
				}
			}}
		},
	})
}
