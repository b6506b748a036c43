package rc

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
)

var opcodeOrder = rule.Rule{
	ID: "RC-OPC-001", Level: rule.Must, Rests: validity.Sequence,
	Title: "A message is ONLY, or FIRST MIDDLE* LAST of one operation, not interleaved with another message",
	Source: rule.Source{Ref: "IBTA 9.4.1, 9.7.2", Requirement: "The packets of a message are sent in order and " +
		"are not interleaved with those of another message of the same QP."},
	Needs: rule.TapRequester, Sees: rule.RequestOut, Stimulus: "messages of several packets", BlackBox: hardware,
	Keeps: true, Each: rule.Kept((*opcodeBefore).sight),
}

// opcodeBefore is what the latest request says of the opcode of the next one.
type opcodeBefore struct {
	sure   bool           // a message has begun; a capture may begin inside one
	inside bool           // the message has not ended
	op     rule.Operation // of the message
}

func (b *opcodeBefore) sight(c *rule.Context, s *rule.Sight) {
	if s.Relation != rule.First {
		return
	}
	o := s.Pkt.Opcode
	b.sure = b.sure || c.Known || o.StartsMessage()
	switch {
	case !b.sure:
		return
	case o.StartsMessage() && b.inside:
		c.Failf(rule.Requester, "%v begins inside another message; the next packet of that one expected", o)
	case !o.StartsMessage() && !b.inside:
		c.Failf(rule.Requester, "%v follows no FIRST; a FIRST or ONLY expected", o)
	case !o.StartsMessage() && rule.OperationOf(o) != b.op:
		c.Failf(rule.Requester, "%v inside a message of another operation; the next packet of that one expected", o)
	default:
		c.Met()
	}
	b.op, b.inside = rule.OperationOf(o), !o.EndsMessage()
}

var opcodeOrderRefused = rule.Rule{
	ID: "RC-OPC-002", Level: rule.Must,
	Title: "The responder answers an illegal order of opcodes with NAK 0x61 and stops serving the QP",
	Source: rule.Source{Ref: "IBTA 9.7.4.1.3, C9-41", Requirement: "A request packet that is out of opcode sequence is " +
		"answered with a NAK invalid request, and the QP goes to the error state."},
	Needs: rule.TapResponder, Sees: rule.Accepts | rule.ResponseOut, Wakes: rule.Faulty, Dozes: true,
	Stimulus: "a crafted MIDDLE without FIRST, or FIRST inside a message", BlackBox: hardware,
	New: func(c *rule.Context) rule.Check {
		return refusing(c, roce.SyndromeInvalidReq, func(s *rule.Sight) bool { return rule.IsOrderFault(s.Reason) })
	},
}

var operationRefused = rule.Rule{
	ID: "RC-OPC-003", Level: rule.Must,
	Title: "An operation that the QP's access flags do not enable is answered with NAK 0x61",
	Source: rule.Source{Ref: "IBTA 9.7.4.1.4; soft-RoCE", Requirement: "A request for an operation that the QP is not " +
		"enabled for is answered with a NAK invalid request."},
	Needs: rule.TapResponder | rule.Attributes, Sees: rule.Accepts | rule.ResponseOut,
	Stimulus: "a READ, WRITE or atomic that the responder does not allow", BlackBox: hardware,
	New: func(c *rule.Context) rule.Check {
		return refusing(c, roce.SyndromeInvalidReq, func(s *rule.Sight) bool {
			need, ok := rule.AccessOf(s.Pkt.Opcode)
			return s.Legal && ok && need&^c.PeerAttr.Access != 0
		})
	},
}

// refusing returns a check that the first bad request to arrive in order is answered by a NAK with this code, and that
// nothing is served after it.
func refusing(c *rule.Context, code roce.Syndrome, bad func(*rule.Sight) bool) rule.Check {
	r := refusal{c: c, code: code, bad: bad, answer: c.Owes(rule.Responder, "no answer to a request that must be refused")}
	return rule.Check{Sight: r.sight}
}

type refusal struct {
	c       *rule.Context
	code    roce.Syndrome
	bad     func(*rule.Sight) bool
	answer  *rule.Obligation // to the bad request
	refused bool             // the bad request was answered with code
	psn     psn.PSN          // of the bad request
}

func (r *refusal) sight(s *rule.Sight) {
	c, p := r.c, s.Pkt
	if s.Point == trace.ResponderIn {
		if s.Due() && !r.answer.Owed() && !r.refused && !c.Fatal && r.bad(s) {
			r.answer.Arise(s, p.PSN)
			r.psn = p.PSN
		}
		return
	}
	switch {
	case p.Opcode.NumberedApart() && !r.refused, p.PSN.Less(r.psn) && (r.answer.Owed() || r.refused):
		// the answer to an older request
	case r.refused:
		c.Failf(rule.Responder, "a response to %s after the QP refused %s; silence expected", c.Rel(p.PSN), c.Rel(r.psn))
	case !r.answer.Owed():
	case p.Opcode == roce.Acknowledge && p.AETH.Syndrome == r.code && p.PSN == r.psn:
		r.refused = r.answer.Discharge(nil)
	default:
		r.answer.Excuse(nil)
		c.Failf(rule.Responder, "%s is not refused with NAK %#x, which is expected before any other answer",
			c.Rel(r.psn), uint8(r.code))
	}
}
