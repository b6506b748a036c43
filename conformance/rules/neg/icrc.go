package neg

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// damaged reports whether a request decodes but has a wrong ICRC.
func damaged(_ *rule.Context, s *rule.Sight) bool {
	return s.Defect() == "" && s.ICRC == trace.Bad && s.Pkt.Opcode.IsRequest()
}

var badICRC = rule.Rule{
	ID: "NEG-ICRC-001", Level: rule.Must,
	Title: "A request with a bad ICRC is dropped silently: no reply, no change of state, one more in the error counter",
	Source: rule.Source{Ref: "IBTA 7.8, 9.6", Requirement: "A packet that fails the invariant CRC check is discarded " +
		"and does not change the state of the queue pair"},
	Needs: rule.TapResponder | rule.Bytes, Sees: rule.RequestIn | rule.ResponseOut | rule.Foreign,
	Wakes: rule.Odd, Dozes: true,
	Stimulus: "a request that is corrupted on the way", BlackBox: "HW,RXE",
	New: func(c *rule.Context) rule.Check {
		return (&silence{c: c, what: "request with a bad ICRC", bad: damaged, counter: "icrc"}).check()
	},
}

// corruptedIsLost judges the responder's part of the equivalence, in the same run: until a good copy arrives, its
// responses must be those to a lost packet. The good copy meets the rule.
var corruptedIsLost = rule.Rule{
	ID: "NEG-ICRC-002", Level: rule.Must,
	Title: "A corrupted packet is equivalent to a lost one: the trace continues in the same way",
	Source: rule.Source{Ref: "IBTA 7.8, 9.7.5", Requirement: "A discarded packet is recovered like one that never " +
		"arrived: it is not acknowledged, and the requester sends it again"},
	Needs: rule.Both | rule.Fates | rule.Bytes, Sees: rule.RequestIn | rule.ResponseOut | rule.Foreign,
	Wakes: rule.Odd, Dozes: true,
	Stimulus: "packets that are corrupted on the way", BlackBox: "HW,RXE",
	New: func(c *rule.Context) rule.Check {
		return (&silence{c: c, what: "corrupted packet", recovery: true,
			bad: func(_ *rule.Context, s *rule.Sight) bool {
				return s.Rec.Fate == trace.Corrupted && !s.Intact()
			}}).check()
	},
}
