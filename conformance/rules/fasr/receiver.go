package fasr

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/selective"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// cause is the reason of a receiver's answer.
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

// draws is the kind of answer that each cause draws.
var draws = [...]selective.Kind{voluntary: selective.MayACK, again: selective.MayName, enters: selective.Name,
	follows: selective.Name,
	gaps:    selective.Name, fills: selective.ACK, fillsSlow: selective.ACK, passes: selective.Name}

// counted is the reason of an answer, and lost-cnt after the arrival.
type counted struct {
	why  cause
	lost int  // packets missing below sack-high, maxLost at most
	over bool // lost has overflowed
}

// recorded reports whether the answer is a SACK of a new out-of-order packet.
func (s counted) recorded() bool { return s.why == enters || s.why == follows || s.why == gaps }

// filled reports whether the answer is the ACK of a packet that filled RCV-NXT in recovery.
func (s counted) filled() bool { return s.why == fills || s.why == fillsSlow }

// answer is the answer that a receiver owes for one arrival.
type answer = selective.Answer[counted]

// receiver is the part of the reference receiver (FaSR III-B1, III-D) that the conversation does not hold.
type receiver struct {
	c *rule.Context
	counted
	high   psn.PSN // sack-high: the newest packet kept
	window int     // packets from RCV-NXT on that a requester may have in flight
}

func newReceiver(c *rule.Context) *selective.Receiver[counted] {
	r := &receiver{c: c, window: parameter(c, "window", 500)}
	of := selective.OfRequests(c, r.draws)
	of.NAKs = true // without room in the pool
	return of
}

// draws updates lost-cnt with a request, and returns the answer that it draws.
func (r *receiver) draws(s *rule.Sight) (selective.Kind, counted) {
	if s.Pkt.Opcode.Class() != roce.ClassF || s.Pkt.PSN.Sub(r.c.EPSN) >= r.window {
		return selective.Unknown, r.counted
	}
	r.why = r.next(s)
	return draws[r.why], r.counted
}

func (r *receiver) next(s *rule.Sight) cause {
	p, recovering := s.Pkt.PSN, r.c.Held > 0
	switch {
	case s.Relation == rule.Duplicate, !recovering && s.Relation == rule.InOrder:
		return voluntary
	case s.Relation == rule.InOrder:
		return r.fill()
	case !recovering:
		r.lost, r.over = 0, false
		r.add(p.Sub(r.c.EPSN))
		r.high = p
		return enters
	case p == r.high:
		return again
	case p.Less(r.high):
		return passes
	}
	gap := p.Sub(r.high) - 1
	r.add(gap)
	r.high = p
	if gap > 0 {
		return gaps
	}
	return follows
}

// add adds missing packets to lost-cnt.
func (r *receiver) add(missing int) {
	if r.lost += missing; r.over || r.lost > maxLost {
		r.lost, r.over = maxLost, true
	}
}

// fill subtracts a missing packet that arrived.
func (r *receiver) fill() cause {
	why := fills
	if r.lost > 1 || r.over {
		why = fillsSlow
	}
	if !r.over {
		r.lost--
	}
	return why
}

// answers makes a check that judges each answer against that of the reference receiver.
func answers(judge func(c *rule.Context, want *answer, sent *rule.Sight)) func(*rule.Context) rule.Check {
	return func(c *rule.Context) rule.Check {
		return newReceiver(c).Check(func(want *answer, sent *rule.Sight) { judge(c, want, sent) })
	}
}

const answersTap = rule.TapResponder | rule.Attributes

// sightsOfReceiver are the sights that the reference receiver needs.
const sightsOfReceiver = rule.RequestIn | rule.ResponseOut

// wrongCount judges the lost-cnt of the SACKs of one cause.
func wrongCount(which func(cause) bool) func(*rule.Context) rule.Check {
	return answers(func(c *rule.Context, want *answer, sent *rule.Sight) {
		if sent == nil || !which(want.Why.why) || !isSACK(sent.Pkt) {
			return
		}
		c.Met()
		if got := int(sent.Pkt.SACK.LostCnt); got != want.Why.lost {
			c.Failf(rule.Responder, "SACK of %s has lost-cnt %d; %d expected", c.Rel(want.Named()), got, want.Why.lost)
		}
	})
}

var enterCounts = define(rule.Rule{
	ID: "FASR-LC-001", Level: rule.Must,
	Title: "The first packet out of order makes lost-cnt the distance from RCV-NXT to it",
	Source: rule.Source{Ref: "FASR III-B1", Requirement: "In the normal state, lost-cnt will increase according to " +
		"the interval between PSN and RCV-NXT."},
	Needs: answersTap, Sees: sightsOfReceiver, Stimulus: "one to eight lost packets in a row",
	New: wrongCount(func(w cause) bool { return w == enters }),
})

var gapCounts = define(rule.Rule{
	ID: "FASR-LC-002", Level: rule.Must,
	Title: "In recovery, a new highest PSN adds to lost-cnt the packets between it and sack-high",
	Source: rule.Source{Ref: "FASR III-B1", Requirement: "In the loss recovery state, lost-cnt will increase " +
		"according to the interval between PSN and sack-high."},
	Needs: answersTap, Sees: sightsOfReceiver, Stimulus: "two separate losses in one recovery",
	New: wrongCount(func(w cause) bool { return w == gaps }),
})

var sackCarriesCount = define(rule.Rule{
	ID: "FASR-LC-004", Level: rule.Must,
	Title: "Every packet out of order that is recorded draws a SACK with the lost-cnt after it",
	Source: rule.Source{Ref: "FASR III-B1", Requirement: "lost-cnt will be piggy-backed in SACK packet (extended " +
		"header) and returned to the sender."},
	Needs: answersTap, Sees: sightsOfReceiver, Stimulus: "lost packets followed by others",
	New: answers(func(c *rule.Context, want *answer, sent *rule.Sight) {
		if !want.Why.recorded() {
			return
		}
		c.Met()
		switch {
		case sent == nil:
			c.FailAt(want.At, want.Index, rule.Responder, c.Rel(want.Named())+" draws no SACK")
		case isSACK(sent.Pkt) && int(sent.Pkt.SACK.LostCnt) != want.Why.lost:
			c.Failf(rule.Responder, "SACK of %s has lost-cnt %d; %d expected", c.Rel(want.Named()),
				sent.Pkt.SACK.LostCnt, want.Why.lost)
		}
	}),
})

var overflowOpcode = define(rule.Rule{
	ID: "FASR-LC-006", Level: rule.Must,
	Title: "After an overflow of lost-cnt, and only then, SACKs have the overflow opcode",
	Source: rule.Source{Ref: "FASR IV-D",
		Requirement: "The lost-cnt overflow flag is marked using the unused op-type value."},
	Needs: answersTap, Sees: sightsOfReceiver, Stimulus: "nine lost packets in a row",
	New: answers(func(c *rule.Context, want *answer, sent *rule.Sight) {
		if sent == nil || !isSACK(sent.Pkt) || want.Why.why == passes {
			return
		}
		over := sent.Pkt.Opcode == roce.FaSRSackOverflow
		if want.Why.over {
			c.Met()
		}
		if over != want.Why.over {
			c.Failf(rule.Responder, "%v of %s; lost-cnt is %d, overflow is %v", sent.Pkt.Opcode,
				c.Rel(want.Named()), want.Why.lost, want.Why.over)
		}
	}),
})

var slowRecords = define(rule.Rule{
	ID: "FASR-SLOW-001", Level: rule.Must,
	Title: "On the slow path packets out of order are recorded, and a fill takes RCV-NXT to the first that is not",
	Source: rule.Source{Ref: "FASR III-B1", Requirement: "After receiving a retransmission packet, the bitmap is " +
		"still queried to obtain the updated value of RCV-NXT."},
	Needs: answersTap, Sees: sightsOfReceiver, Stimulus: "several lost packets with others between them",
	New: answers(func(c *rule.Context, want *answer, sent *rule.Sight) {
		if sent == nil {
			return
		}
		said, is := sent.Pkt.PSN, want.Next
		switch {
		case want.Why.why == fillsSlow && rule.IsACK(sent.Pkt):
			is = is.Prev()
		case want.Why.lost <= 1 || !isSACK(sent.Pkt):
			return
		}
		if c.Met(); said.Less(is) || isSACK(sent.Pkt) && said != is {
			c.Failf(rule.Responder, "the answer to %s has PSN %s; RCV-NXT requires %s", c.Rel(want.Named()),
				c.Rel(said), c.Rel(is))
		}
	}),
})

var fillAcknowledged = define(rule.Rule{
	ID: "FASR-ACK-001", Level: rule.Must,
	Title: "The packet that fills RCV-NXT in recovery is answered with an ACK, not with a SACK",
	Source: rule.Source{Ref: "FASR III-B1",
		Requirement: "The updated RCV-NXT is then sent back to the sender through an ACK (AACK)."},
	Needs: answersTap, Sees: sightsOfReceiver, Stimulus: "a lost packet that is sent again",
	New: answers(func(c *rule.Context, want *answer, sent *rule.Sight) {
		switch {
		case !want.Why.filled():
		case sent == nil:
			c.FailAt(want.At, want.Index, rule.Responder, c.Rel(want.Named())+" fills RCV-NXT and draws no ACK")
		case isSACK(sent.Pkt):
			c.Failf(rule.Responder, "a SACK answers the fill of %s; an ACK expected", c.Rel(want.Named()))
		case want.Why.why == fills && rule.IsACK(sent.Pkt) && sent.Pkt.PSN.Less(want.Next.Prev()):
			c.Failf(rule.Responder, "the ACK of the fill of %s is of %s; RCV-NXT requires %s", c.Rel(want.Named()),
				c.Rel(sent.Pkt.PSN), c.Rel(want.Next.Prev()))
		default:
			c.Met()
		}
	}),
})
