package irn

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
)

var readOrder = define(rule.Rule{
	ID: "IRN-RD-004", Level: rule.Must, Rests: validity.Sequence,
	Title: "READs and atomics are executed in the order of read_WQE_SN, even if their requests come out of order",
	Source: rule.Source{Ref: early, Requirement: "Read and Atomic requests carry a read_WQE_SN; one that arrives out " +
		"of order waits in the Read WQE buffer, and is executed only after all before it."},
	Needs: rule.TapResponder, Sees: rule.Accepts | rule.ResponseOut, Stimulus: "READ requests that overtake each other",
	New: func(c *rule.Context) rule.Check { return rule.Check{Sight: (&execution{c: c}).sight} },
})

// execution tracks the answers to READs and atomics by the read_WQE_SN of their requests.
type execution struct {
	c         *rule.Context
	known     bool   // next is known
	next      uint32 // read_WQE_SN of the next answer, or of the incomplete one
	inside    bool   // the answer is incomplete
	overtaken bool   // a request arrived out of order
}

func (e *execution) sight(s *rule.Sight) {
	c, p := e.c, s.Pkt
	switch {
	case s.Point == trace.ResponderIn:
		e.overtaken = e.overtaken || s.Kept && isRead(p.Opcode)
		if !e.known && c.Known && isRead(p.Opcode) && s.Legal {
			e.known, e.next = true, p.SO.SN
		}
		return
	case !p.Opcode.IsReadResponse() || !p.Opcode.NumberedApart() || s.Relation != rule.First || s.Defect() != "":
		return
	// the capture may have begun inside an answer, or missed part of it
	case !e.known && !c.Known, p.PSN != c.Reads.MAX:
		e.next = p.SO.SN
	case p.SO.SN != e.next:
		c.Failf(rule.Responder, "the answer to READ %d is sent, that to READ %d is next", p.SO.SN, e.next)
		e.next = p.SO.SN
	case p.Opcode.StartsMessage() == e.inside:
		c.Failf(rule.Responder, "%v %s, in the answer to READ %d", p.Opcode, c.Rel(p.PSN), e.next)
	case e.overtaken && p.Opcode.EndsMessage():
		c.Met()
	}
	e.known = true
	if e.inside = !p.Opcode.EndsMessage(); !e.inside {
		e.next = (e.next + 1) & psn.Mask
	}
}
