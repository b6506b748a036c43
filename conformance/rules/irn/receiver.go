package irn

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/selective"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// cause is the reason of a receiver's answer (IRNH receiveData).
type cause uint8

const (
	plain    cause = iota // in order with nothing missing: the ACK may be merged with later ones
	ordered               // in order with packets kept behind it, but not the next one: an ACK
	fills                 // in order with the next packet kept: an ACK of the whole run
	old                   // before the expected PSN: an ACK
	ahead                 // out of order and new: a NACK
	repeated              // out of order and already kept: the NACK again
	notReady              // in order, but without its receive: an RNR NAK
	homeless              // out of order, and without its receive: nothing
	beyond                // farther ahead than the bitmap reaches: nothing
)

// draws is the kind of answer that each cause draws.
var draws = [...]selective.Kind{plain: selective.MayACK, ordered: selective.ACK, fills: selective.ACK,
	old: selective.ACK, ahead: selective.Name,
	repeated: selective.Name, notReady: selective.Refusal, homeless: selective.Silence, beyond: selective.Silence}

// answer is the answer that a receiver owes for an arrival.
type answer = selective.Answer[cause]

// causeOf returns why a request that arrives is answered; reach is the length of the bitmap, in PSNs.
//
// "Upon every out-of-order packet arrival, an IRN receiver sends a NACK, which carries both the cumulative
// acknowledgment (indicating its expected sequence number) and the sequence number of the packet that triggered the
// NACK" (IRN 3.1).
func causeOf(c *rule.Context, s *rule.Sight, reach int) cause {
	switch p := s.Pkt; {
	case s.Relation == rule.Duplicate:
		return old
	case p.PSN.Sub(c.EPSN) >= reach:
		return beyond
	case s.Relation == rule.Ahead && c.Holds(p.PSN):
		return repeated
	case s.Relation == rule.Ahead && c.Homeless(p):
		return homeless
	case s.Relation == rule.Ahead:
		return ahead
	case c.Homeless(p) && p.Opcode.TakesReceive():
		return notReady
	case c.Holds(p.PSN.Next()):
		return fills
	case c.Held > 0:
		return ordered
	}
	return plain
}

// newReceiver returns the reference receiver of requests.
func newReceiver(c *rule.Context) *selective.Receiver[cause] {
	reach := capOf(c)
	return selective.OfRequests(c, func(s *rule.Sight) (selective.Kind, cause) {
		why := causeOf(c, s, reach)
		if s.Due() && !s.Legal || why == beyond && s.Kept || why != old && c.Untold(s.Pkt) {
			return selective.Unknown, why
		}
		return draws[why], why
	})
}

// answers makes a check that judges each answer against the answer of the reference receiver.
func answers(judge func(c *rule.Context, want *answer, sent *rule.Sight)) func(*rule.Context) rule.Check {
	return func(c *rule.Context) rule.Check {
		return newReceiver(c).Check(func(want *answer, sent *rule.Sight) { judge(c, want, sent) })
	}
}

const (
	answersTap = rule.TapResponder | rule.Attributes

	// sightsOfReceiver are the sights that the reference receiver needs.
	sightsOfReceiver = rule.RequestIn | rule.ResponseOut
)

// nackedWhen judges the NACKs of one cause.
func nackedWhen(why cause) func(*rule.Context) rule.Check {
	return answers(func(c *rule.Context, want *answer, sent *rule.Sight) {
		if want.Why != why {
			return
		}
		switch name := want.Named(); {
		case sent == nil:
			c.FailAt(want.At, want.Index, rule.Responder, c.Rel(name)+" draws no NACK")
		case sent.Pkt.Opcode != roce.IRNNack:
			c.Failf(rule.Responder, "%s arrives out of order and draws %v; a NACK expected", c.Rel(name), sent.Pkt.Opcode)
		case sent.Pkt.PSN != want.Next:
			c.Failf(rule.Responder, "the NACK of %s expects %s; %s is expected next", c.Rel(name),
				c.Rel(sent.Pkt.PSN), c.Rel(want.Next))
		default:
			c.Met()
		}
	})
}

// ackedWhen judges the ACKs of the given causes.
func ackedWhen(which ...cause) func(*rule.Context) rule.Check {
	return answers(func(c *rule.Context, want *answer, sent *rule.Sight) {
		switch name := want.Named(); {
		case !slices.Contains(which, want.Why):
		case sent == nil:
			c.FailAt(want.At, want.Index, rule.Responder, c.Rel(name)+" draws no ACK")
		case !acknowledges(sent.Pkt):
			c.Failf(rule.Responder, "%s draws %v, not an ACK", c.Rel(name), sent.Pkt.Opcode)
		case sent.Pkt.PSN.Less(want.Next.Prev()):
			c.Failf(rule.Responder, "the ACK after %s is of %s; %s expected", c.Rel(name),
				c.Rel(sent.Pkt.PSN), c.Rel(want.Next.Prev()))
		default:
			c.Met()
		}
	})
}

// droppedWhen judges the silence after one cause.
func droppedWhen(why cause) func(c *rule.Context, want *answer, sent *rule.Sight) {
	return func(c *rule.Context, want *answer, sent *rule.Sight) {
		switch {
		case want.Why != why:
		case sent == nil:
			c.Met()
		default:
			c.Failf(rule.Responder, "%s draws %v; silence expected", c.Rel(want.Named()), sent.Pkt.Opcode)
		}
	}
}

var earlyNACKed = define(rule.Rule{
	ID: "IRN-SACK-001", Level: rule.Must,
	Title: "Every out-of-order arrival draws a NACK with the expected PSN and its own",
	Source: rule.Source{Ref: recovery, Requirement: "Upon every out-of-order packet arrival, an IRN receiver sends a " +
		"NACK, which carries both the cumulative acknowledgment (indicating its expected sequence number) and the " +
		"sequence number of the packet that triggered the NACK."},
	Needs: answersTap, Sees: sightsOfReceiver, Stimulus: "a lost packet with others behind it", New: nackedWhen(ahead),
})

var inOrderACKed = define(rule.Rule{
	ID: "IRN-SACK-002", Level: rule.Must,
	Title: "An in-order arrival draws an ACK, even while higher packets are kept",
	Source: rule.Source{Ref: hls, Requirement: "receiveData: a packet with the expected number is answered with an " +
		"ACK, whatever the bitmap holds."},
	Needs: answersTap, Sees: sightsOfReceiver, Stimulus: "lost packets with others behind them",
	New: ackedWhen(ordered, fills),
})

var duplicateACKed = define(rule.Rule{
	ID: "IRN-SACK-003", Level: rule.Must,
	Title: "A duplicate, below the expected PSN, draws an ACK of all before the expected one",
	Source: rule.Source{Ref: hls,
		Requirement: "receiveData: a packet below the expected number is answered with an ACK of the expected number."},
	Needs: answersTap, Sees: sightsOfReceiver, Stimulus: "a packet that arrives twice", New: ackedWhen(old),
})

var earlyTwiceNACKed = define(rule.Rule{
	ID: "IRN-SACK-004", Level: rule.Must,
	Title: "An out-of-order packet that comes twice draws the same NACK again, and changes nothing",
	Source: rule.Source{Ref: recovery + "; " + hls,
		Requirement: "Upon every out-of-order packet arrival, an IRN receiver sends a NACK."},
	Needs: answersTap, Sees: sightsOfReceiver, Stimulus: "a lost packet, and a later one that arrives twice",
	New: nackedWhen(repeated),
})

var beyondDropped = define(rule.Rule{
	ID: "IRN-BMP-003", Level: rule.Must,
	Title: "A packet that is the cap or more ahead of the expected one is dropped",
	Source: rule.Source{Ref: bdp, Requirement: "The number of packets in flight is bounded by the BDP, and the " +
		"bitmaps have that length: packets beyond have no place in them."},
	Needs: answersTap, Sees: sightsOfReceiver, Stimulus: "a packet that lies beyond the bitmap",
	New: answers(droppedWhen(beyond)),
})

var homelessDropped = define(rule.Rule{
	ID: "IRN-PLC-003", Level: rule.Must,
	Title: "An out-of-order SEND without a posted receive is dropped in silence; an in-order one draws an RNR NAK",
	Source: rule.Source{Ref: "IRN 5", Requirement: "An out-of-order Send packet that finds no Receive WQE is dropped " +
		"silently; the in-order one draws the RNR NACK."},
	Needs: answersTap | rule.Completions, Sees: sightsOfReceiver,
	Stimulus: "more SENDs than receives, and a lost packet",
	New: answers(func(c *rule.Context, want *answer, sent *rule.Sight) {
		switch droppedWhen(homeless)(c, want, sent); {
		case want.Why != notReady:
		case sent == nil:
			c.FailAt(want.At, want.Index, rule.Responder, c.Rel(want.Named())+" has no receive and draws no RNR NAK")
		case !rule.IsRNR(sent.Pkt):
			c.Failf(rule.Responder, "%s has no receive and draws %v", c.Rel(want.Named()), sent.Pkt.Opcode)
		default:
			c.Met()
		}
	}),
})

var differential = define(rule.Rule{
	ID: "IRN-NRM-001", Level: rule.Must,
	Title: "Fed the same packets, the receiver gives the answers of the reference receiver, and no others",
	Source: rule.Source{Ref: hls, Requirement: "receiveData: ACK at or below the expected number, NACK above it, " +
		"with the expected number after the packet."},
	Needs: answersTap, Sees: sightsOfReceiver, Stimulus: "losses, and packets that come twice",
	New: func(c *rule.Context) rule.Check {
		foreign := func(s *rule.Sight) {
			c.Failf(rule.Responder, "%v is not an answer of the reference to anything that arrived; none expected", s.Pkt.Opcode)
		}
		r := newReceiver(c)
		r.Match = func(want *answer, sent *rule.Sight) {
			switch named := want.Kind == selective.Name; {
			case sent == nil && want.Kind != selective.Silence:
				c.FailAt(want.At, want.Index, rule.Responder, c.Rel(want.Named())+" is not answered as by the reference")
			case sent != nil && rule.Selective(sent.Pkt) && (!named || sent.Pkt.PSN != want.Next), sent != nil &&
				named && (acknowledges(sent.Pkt) || rule.IsNAK(sent.Pkt)):
				foreign(sent)
			case want.Why == ahead || want.Why == old:
				c.Met()
			}
		}
		return rule.Check{End: r.End, Sight: func(s *rule.Sight) {
			if !r.Sight(s) {
				foreign(s)
			}
		}}
	},
})
