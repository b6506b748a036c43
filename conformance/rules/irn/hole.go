package irn

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

var holeFilled = define(rule.Rule{
	ID: "IRN-BMP-002", Level: rule.Must,
	Title: "The packet that fills the hole moves the expected PSN over the run behind it, the MSN by the messages that " +
		"end in it, and completes the receives of those that have one",
	Source: rule.Source{Ref: early, Requirement: "The MSN is advanced by the number of packets of the run that are " +
		"the last of their message, and the CQEs of those that have one are released."},
	Needs: answersTap | rule.Completions, Sees: sightsOfReceiver | rule.ReleaseIn,
	Stimulus: "a lost packet with messages that end behind it",
	New: func(c *rule.Context) rule.Check {
		r, done := newReceiver(c), c.Owes(rule.Responder,
			"a hole is filled, but the receive of %s behind it does not complete")
		done.Unless = func(rule.Debt) bool { return c.Failed || r.Blind }
		r.Match = func(want *answer, sent *rule.Sight) { ranOver(c, want, sent) }
		var filled rule.Debt // by the latest request in order
		return rule.Check{End: r.End, Sight: func(s *rule.Sight) {
			switch r.Sight(s); {
			case r.Blind || rule.IsRNR(s.Pkt):
				done.Excuse(nil)
			case s.Relation == rule.InOrder:
				filled = rule.Debt{At: s.At, Since: s.At, Index: s.Index}
			case s.Relation == rule.Released && kindOf(s.Pkt.Opcode) == lastCQE:
				filled.PSN = s.Pkt.PSN
				done.Owe(filled)
			}
		}, Event: func(e *trace.Event) {
			if e.Kind == trace.Recv && !c.Mine(e) {
				done.Discharge(func(d rule.Debt) bool { return d.PSN == e.Body.PSN })
			}
		}}
	},
})

// ranOver judges the ACK of a packet that filled a hole.
func ranOver(c *rule.Context, want *answer, sent *rule.Sight) {
	if want.Why != fills || sent == nil || !acknowledges(sent.Pkt) {
		return
	}
	switch p, end := sent.Pkt, want.Next.Prev(); {
	case p.PSN.Less(end):
		c.Failf(rule.Responder, "%s fills the hole, and the ACK is of %s, not of %s", c.Rel(want.Named()),
			c.Rel(p.PSN), c.Rel(end))
	case p.PSN == end && p.AETH.MSN != want.MSN:
		c.Failf(rule.Responder, "%s fills the hole, and the ACK has MSN %d, not %d", c.Rel(want.Named()),
			p.AETH.MSN, want.MSN)
	default:
		c.Met()
	}
}
