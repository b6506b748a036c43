// Package srn holds the rules of the SRNIC-like baseline: IRN's recovery on FaSR's wire, with bitmaps in host memory
// whose queries stall the receive pipeline (FaSR II-A, V).
//
// A stall is visible on the wire, where the answer to a retransmission is late, and in the variables that an engine
// reports: queries and stalls of either half of a QP, and the state on the chip.
package srn

import "github.com/rdma-gauntlet/gauntlet/conformance/rule"

// Rules returns the family in the order of IDs.
func Rules() []rule.Rule {
	return []rule.Rule{throughputLoss, placeable, stateSize, decisions, stalls, noStall}
}

// define fills in the fields that all rules of the family share.
func define(r rule.Rule) rule.Rule {
	r.Features, r.BlackBox = []string{rule.QueriesHost, rule.KeepsEarly}, "ENG"
	return r
}

// pipeOf returns the receive pipeline of the responder.
func pipeOf(c *rule.Context) rule.Pipe { return rule.PipeWith(c.PeerAttr.Params) }
