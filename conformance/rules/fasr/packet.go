package fasr

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/selective"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
)

var placeable = define(rule.Rule{
	ID: "FASR-PLC-001", Level: rule.Must, Rests: validity.Sequence,
	Title: "Every WRITE packet carries its remote address, and every SEND packet the number of its receive and its offset",
	Source: rule.Source{Ref: "FASR IV-D", Requirement: "All SEND packets carry the 3 bytes size send message " +
		"sequence number (MSN) and 3 bytes for the payload offset [...]. All WRITE packets carry their target remote " +
		"memory address, which costs 8 bytes."},
	Needs: rule.TapRequester, Sees: rule.RequestOut, Stimulus: "messages of several packets",
	New: selective.Places,
})

var readAcknowledged = define(rule.Rule{
	ID: "FASR-RD-001", Level: rule.Must,
	Title: "READ requests are acknowledged, and one that is not is sent again on timeout",
	Source: rule.Source{Ref: "FASR IV-D, IV-B", Requirement: "For READ, an acknowledgment mechanism is introduced to " +
		"the READ requests [...]. If an RD request times out, it will be resubmitted."},
	Needs: rule.Both | rule.Fates | rule.Attributes, Sees: rule.Requests | rule.Responses,
	Stimulus: "READs, and a lost READ request",
	New: func(c *rule.Context) rule.Check {
		return rule.Check{Sight: newRequests(c).sight}
	},
})

// requests tracks one READ request at a time, from its arrival to its acknowledgement, or from its loss to its
// retransmission.
type requests struct {
	c     *rule.Context
	ack   *rule.Obligation // of a request that arrived
	again *rule.Obligation // to send a lost request
}

func newRequests(c *rule.Context) *requests {
	q := &requests{c: c, ack: c.Owes(rule.Responder, "the READ request %s is not acknowledged"),
		again: c.Owes(rule.Requester, "the READ request %s is lost and not sent again")}
	q.ack.Prompt = true // an ACK of the request that is sent again for want of it is none
	q.again.Within = rule.TimerSlow * c.Attr.TransportTimer()
	q.again.Unless = func(rule.Debt) bool { return c.Attr.TransportTimer() == 0 }
	return q
}

func (q *requests) sight(s *rule.Sight) {
	p := s.Pkt
	switch {
	case s.Point == trace.ResponderIn && p.Opcode == roce.FReadRequest && s.Due() && s.Legal && !q.ack.Owed():
		q.ack.Arise(s, p.PSN)
	case s.Point == trace.RequesterOut && p.Opcode == roce.FReadRequest && s.Relation == rule.First &&
		s.Rec.Lost() && !q.again.Owed():
		q.again.Arise(s, p.PSN)
	case s.Point == trace.RequesterOut:
		q.again.Discharge(func(d rule.Debt) bool { return d.PSN == p.PSN })
	case s.Point == trace.ResponderOut && p.Opcode == roce.Acknowledge:
		last, ok := rule.Acknowledged(p)
		q.ack.Discharge(func(d rule.Debt) bool { return ok && d.PSN.LessEq(last) || q.c.Fatal })
	}
}
