package wire

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
)

// atomicAligned blames the requester whoever chose the address: it need not send a request that its application asks
// for.
var atomicAligned = rule.Rule{
	ID: "WIRE-ATOMIC-001", Level: rule.Must, Rests: validity.Frames,
	Title: "The address of an atomic is a multiple of eight",
	Source: rule.Source{Ref: "IBTA 9.4.5", Requirement: "The virtual address of an atomic request is aligned to 8 " +
		"bytes; the responder refuses another as an invalid request"},
	Needs: rule.TapRequester | rule.Frames, Sees: rule.RequestOut, Stimulus: "an atomic", BlackBox: "HW,RXE",
	Each: sent(func(c *rule.Context, s *rule.Sight) {
		if !s.Pkt.Opcode.IsAtomic() || s.Defect() != "" {
			return
		}
		c.Met()
		if va := s.Pkt.RETH.VA; va%8 != 0 {
			c.Failf(rule.Requester, "%v at %#x; an address that is a multiple of eight expected", s.Pkt.Opcode, va)
		}
	}),
}
