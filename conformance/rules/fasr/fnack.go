package fasr

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

var fnackNames = define(rule.Rule{
	ID: "FASR-FNK-001", Level: rule.Must,
	Title: "A packet between RCV-NXT and sack-high is dropped and answered with an FNACK that carries its PSN",
	Source: rule.Source{Ref: "FASR III-D", Requirement: "If the receiver receives a packet with a PSN smaller than " +
		"sack-high and larger than RCV-NXT, one retransmitted packet is considered lost. This packet will be " +
		"discarded, and the PSN value is carried back in FNACK."},
	Needs: answersTap, Sees: sightsOfReceiver, Stimulus: "the first of several retransmissions lost",
	New: answers(func(c *rule.Context, want *answer, sent *rule.Sight) {
		switch {
		case want.Why.why != passes:
			if sent != nil && sent.Pkt.Opcode == roce.FNACK {
				c.Failf(rule.Responder, "FNACK of %s, which is not below sack-high", c.Rel(want.Named()))
			}
		case sent == nil:
			c.FailAt(want.At, want.Index, rule.Responder, c.Rel(want.Named())+" is below sack-high and draws no FNACK")
		case sent.Pkt.Opcode != roce.FNACK:
			c.Failf(rule.Responder, "%s is below sack-high and draws %v; an FNACK expected",
				c.Rel(want.Named()), sent.Pkt.Opcode)
		default:
			c.Met()
		}
	}),
})
