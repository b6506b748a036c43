package wire

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
)

var udDatagram = rule.Rule{
	ID: "WIRE-UD-001", Level: rule.Must, Rests: validity.Frames,
	Title: "UD packets carry a DETH, and a UD message fits one packet",
	Source: rule.Source{Ref: "IBTA 9.8.3",
		Requirement: "An unreliable datagram is a single packet with a DETH, which names the Q_Key and the source QP"},
	Needs: rule.Bytes | rule.Frames, Sees: rule.Foreign, Features: []string{"ud"}, Stimulus: "a datagram",
	BlackBox: "HW,RXE",
	Each: sent(func(c *rule.Context, s *rule.Sight) {
		p, d := s.Pkt, s.Defect()
		if p.Opcode.Class() != roce.ClassUD {
			return
		}
		c.Met()
		switch {
		case p.Opcode.Known() && cutAt(d, "deth"):
			c.Fail(rule.Requester, "a UD packet ends before its DETH: "+d)
		case !p.Opcode.Known():
			c.Failf(rule.Requester, "%v: UD has SEND_ONLY alone, with or without immediate", p.Opcode)
		case d == "" && c.MTU > 0 && p.Len > c.MTU:
			c.Failf(rule.Requester, "UD message of %d bytes, the MTU is %d", p.Len, c.MTU)
		case d == "" && c.Attr.QPN != 0 && p.DETH.SrcQP != c.Attr.QPN:
			c.Failf(rule.Requester, "DETH names source QP %#x, the sender is %#x", p.DETH.SrcQP, c.Attr.QPN)
		}
	}),
}
