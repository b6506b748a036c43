package neg

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

var undefinedOpcode = rule.Rule{
	ID: "NEG-OPC-001", Level: rule.Must,
	Title: "A packet with an undefined opcode is dropped silently",
	Source: rule.Source{Ref: "IBTA 9.6.1",
		Requirement: "A packet whose opcode is reserved is discarded without an answer"},
	Needs: rule.TapResponder, Sees: rule.RequestIn | rule.ResponseOut | rule.Foreign, Wakes: rule.Odd, Dozes: true,
	Stimulus: "undefined opcodes", BlackBox: "HW,RXE",
	New: silently("packet with an undefined opcode", func(_ *rule.Context, s *rule.Sight) bool {
		return defective(s, roce.ErrUnknownOpcode.Error())
	}),
}

// wrongService waits until the QP is seen to serve a reliable connection; datagrams are legal at a UD QP.
var wrongService = rule.Rule{
	ID: "NEG-OPC-002", Level: rule.Must,
	Title: "A packet of another service type than the QP's is dropped silently",
	Source: rule.Source{Ref: "IBTA 9.6.1, soft-RoCE", Requirement: "The transport class of the opcode must be that of " +
		"the destination queue pair, otherwise the packet is discarded"},
	Needs: rule.TapResponder, Sees: rule.RequestIn | rule.ResponseOut | rule.Foreign, Wakes: rule.Odd, Dozes: true,
	Stimulus: "a packet of another service type", BlackBox: "HW,RXE",
	New: func(c *rule.Context) rule.Check {
		connected := c.Reliable // the QP is known to serve a reliable connection
		j := silence{c: c, what: "packet of another service type", bad: func(_ *rule.Context, s *rule.Sight) bool {
			class := s.Pkt.Opcode.Class()
			return connected && s.Intact() && s.Pkt.Opcode.Known() &&
				(class == roce.ClassUC || class == roce.ClassRD || class == roce.ClassUD || class == roce.ClassXRC)
		}}
		check := j.check()
		silent, wake := check.Sight, check.Wake
		check.Sight = func(s *rule.Sight) {
			connected = connected || rule.OfConnection(s.Pkt.Opcode) && s.Intact()
			silent(s)
		}
		check.Wake = func() { wake(); connected = c.Reliable }
		return check
	},
}

var wrongVersion = rule.Rule{
	ID: "NEG-TVER-001", Level: rule.Must,
	Title:  "A packet whose TVer is not 0 is dropped silently",
	Source: rule.Source{Ref: "IBTA 9.6.1", Requirement: "A packet with a transport version other than 0 is discarded"},
	Needs:  rule.TapResponder, Sees: rule.RequestIn | rule.ResponseOut | rule.Foreign, Wakes: rule.Odd, Dozes: true,
	Stimulus: "a packet with a transport version other than 0", BlackBox: "HW,RXE",
	New: silently("packet with a transport version other than 0", func(_ *rule.Context, s *rule.Sight) bool {
		return s.Intact() && s.Pkt.TVer != 0
	}),
}
