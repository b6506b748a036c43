package rc

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

var ackCoversRequests = rule.Rule{
	ID: "RC-ACK-001", Level: rule.Must,
	Title: "Every accepted request with AckReq is acknowledged by a response with its PSN or a later one",
	Source: rule.Source{Ref: "IBTA 9.7.5.1.2", Requirement: "The responder acknowledges every request packet " +
		"whose AckReq bit is set; one response may acknowledge several."},
	Needs: rule.TapResponder, Sees: rule.Accepts | rule.ResponseOut, Minds: rule.Asked | rule.Answer,
	Stimulus: "a request with AckReq", BlackBox: hardware,
	New: func(c *rule.Context) rule.Check {
		a := ackDemand{c: c, ack: c.Owes(rule.Responder, "no acknowledgement of %s")}
		return rule.Check{Sight: a.sight}
	},
}

// ackDemand tracks the accepted requests with AckReq that are not yet acknowledged.
type ackDemand struct {
	c   *rule.Context
	ack *rule.Obligation
}

func (a *ackDemand) sight(s *rule.Sight) {
	p := s.Pkt
	if s.Point == trace.ResponderIn {
		if s.Legal && p.AckReq && !a.c.Fatal {
			a.ack.Extend(s, p.PSN)
		}
		return
	}
	upTo, ok := rule.Acknowledged(p)
	refused := rule.IsRNR(p) // this request and all later ones, which are sent again
	if rule.IsFatalNAK(p) {
		upTo = p.PSN // the QP is in error
	}
	a.ack.Discharge(func(d rule.Debt) bool { return refused || ok && d.PSN.LessEq(upTo) })
	if ok && rule.Furthers(a.c, upTo) {
		a.ack.Restart(s.At) // answers to earlier requests leave first
	}
}

var ackIsReceived = rule.Rule{
	ID: "RC-ACK-002", Level: rule.MustNot, Rests: validity.Sequence,
	Title: "An acknowledgement never names a PSN that has not been received in order",
	Source: rule.Source{Ref: "IBTA 9.7.5.1.2", Requirement: "A positive acknowledgement of a PSN says that this " +
		"request packet and all before it have been received."},
	Needs: rule.TapResponder, Sees: rule.ResponseOut, Stimulus: "a lost request", BlackBox: hardware,
	Each: func(c *rule.Context, s *rule.Sight) {
		last, ok := rule.Acknowledged(s.Pkt)
		switch {
		case !c.Started || c.Fatal || !ok:
		case last.Less(c.EPSN):
			c.Met()
		default:
			c.Failf(rule.Responder, "acknowledges %s, while %s has not arrived", c.Rel(last), c.Rel(c.EPSN))
		}
	},
}

var ackMonotonic = rule.Rule{
	ID: "RC-ACK-003", Level: rule.Must, Rests: validity.Sequence,
	Title: "ACK PSNs never decrease; the answer to a duplicate repeats the newest PSN completed",
	Source: rule.Source{Ref: "IBTA 9.7.5.1.2, C9-105", Requirement: "The acknowledgement of a duplicate SEND or WRITE " +
		"carries the PSN of the most recently completed request packet."},
	Needs: rule.TapResponder, Sees: rule.RequestIn | rule.ResponseOut, Minds: rule.Late | rule.Answer,
	Stimulus: "a duplicate request", BlackBox: hardware,
	Keeps: true, Each: rule.Kept((*ackOrder).sight),
}

// ackOrder compares each ACK with the one before.
type ackOrder struct {
	last      psn.PSN // of the latest ACK
	any       bool    // last is set
	duplicate bool    // a duplicate with payload has arrived since
}

func (a *ackOrder) sight(c *rule.Context, s *rule.Sight) {
	if s.Point == trace.ResponderIn {
		a.duplicate = a.duplicate || s.Relation == rule.Duplicate && s.Pkt.Len > 0
		return
	}
	if !rule.IsACK(s.Pkt) {
		return
	}
	switch {
	case a.any && s.Pkt.PSN.Less(a.last):
		c.Failf(rule.Responder, "ACK of %s after an ACK of %s; never an earlier one expected",
			c.Rel(s.Pkt.PSN), c.Rel(a.last))
	case a.duplicate:
		c.Met()
	}
	*a = ackOrder{last: s.Pkt.PSN, any: true}
}

var ackOutsideIgnored = rule.Rule{
	ID: "RC-ACK-004", Level: rule.Must,
	Title: "The requester ignores acknowledgements of PSNs that are not outstanding",
	Source: rule.Source{Ref: "IBTA 9.7.5.1.1, 9.7.6",
		Requirement: "A response whose PSN is outside the range of outstanding requests is a ghost and is dropped."},
	Needs: rule.TapRequester, Sees: rule.RequestOut | rule.ResponseIn, Minds: rule.Late | rule.Early | rule.Answer,
	Stimulus: "a ghost acknowledgement, behind or ahead", BlackBox: hardware,
	Keeps: true, Each: rule.Kept((*ghost).sight),
	Told: func(c *rule.Context, e *trace.Event) { rule.State[ghost](c).event(c, e) },
}

// ghost is the latest response outside [UNA, MAX), until one inside arrives.
type ghost struct {
	armed, nak bool       // a ghost response was the latest to arrive; it was a PSN sequence error NAK
	psn        psn.PSN    // of the ghost response
	at         vtime.Time // its arrival
}

func (g *ghost) sight(c *rule.Context, s *rule.Sight) {
	p := s.Pkt
	if s.Point == trace.RequesterOut {
		switch {
		case !g.armed, c.Began(s) < g.at:
		case s.Relation == rule.First && p.PSN != c.MAX:
			c.Failf(rule.Requester, "%s is sent first after a ghost acknowledgement of %s; no effect expected",
				c.Rel(p.PSN), c.Rel(g.psn))
		case s.Relation == rule.Again && g.nak && p.PSN == g.psn && p.PSN.Less(c.GoBackPoint(c.UNA)):
			c.Failf(rule.Requester, "sends %s again for a ghost NAK, though it was acknowledged", c.Rel(p.PSN))
		}
		return
	}
	older := !c.Known && p.PSN.Less(c.Start) // a request from before the capture may be outstanding
	if p.Opcode != roce.Acknowledge || !s.Intact() || !c.Started || older {
		return
	}
	// The repeat of the newest acknowledgement is the normal answer to a duplicate.
	if g.armed = !p.PSN.In(c.UNA, c.MAX) && p.PSN != c.UNA.Prev(); g.armed {
		g.psn, g.at, g.nak = p.PSN, s.At, p.AETH.Syndrome == roce.SyndromePSNSeqErr
		c.Met()
	}
}

func (g *ghost) event(c *rule.Context, e *trace.Event) {
	done := e.Kind == trace.CQE && c.Mine(e) && e.Body.Status == engine.StatusSuccess
	if g.armed && done && !e.Body.PSN.Less(c.UNA) {
		c.Failf(rule.Requester, "wr=%d completes on a ghost acknowledgement of %s; no effect expected",
			e.Body.ID, c.Rel(g.psn))
	}
}

var responsesInOrder = rule.Rule{
	ID: "RC-ACK-006", Level: rule.Must, Rests: validity.Sequence,
	Title: "Responses of a QP are sent in PSN order",
	Source: rule.Source{Ref: "IBTA 9.7.5.1.3, C9-110",
		Requirement: "The responder returns responses in the order in which it received the requests."},
	Needs: rule.TapResponder, Sees: rule.RequestIn | rule.ResponseOut,
	Minds:    rule.Late | rule.Fetch | rule.Answer,
	Stimulus: "mixed operations", BlackBox: hardware,
	Keeps: true, Each: rule.Kept((*replyOrder).sight),
}

// replyOrder checks the order of responses. It allows one step back for every request answered by data that is a
// duplicate, or may be one of a request before the capture, because its replay carries old PSNs.
type replyOrder struct {
	any     bool    // last is set
	last    psn.PSN // of the latest response
	floor   psn.PSN // the lowest PSN of a duplicate, with which a replay may begin
	replays int32   // duplicates not yet replayed
	unsure  int32   // those of replays that came before the first answer, which tells whether they are duplicates
}

func (r *replyOrder) sight(c *rule.Context, s *rule.Sight) {
	p := s.Pkt
	if s.Point == trace.ResponderIn {
		known := c.Certain(s.At)
		if (s.Relation == rule.Duplicate || !known) && p.Opcode.AnsweredByData() {
			if !known {
				r.unsure++
			}
			if r.replays == 0 || p.PSN.Less(r.floor) {
				r.floor = p.PSN
			}
			r.replays++
		}
		return
	}
	newest, ok := rule.Acknowledged(p)
	switch passed := c.AtBox && p.Opcode != roce.Acknowledge; { // data pass through the box as they arrive
	case !ok, rule.Selective(p), passed: // a selective acknowledgement reports an early packet and answers no request
		return
	case r.unsure > 0 && c.Certain(s.At):
		if newest.Less(r.floor) {
			r.replays -= r.unsure
		}
		r.unsure = 0
	}
	switch {
	case !r.any || r.last.LessEq(newest):
		if r.any {
			c.Met()
		}
	case r.replays > 0 && r.floor.LessEq(newest):
		r.replays--
	default:
		c.Failf(rule.Responder, "response to %s after one to %s; the order of the requests expected",
			c.Rel(newest), c.Rel(r.last))
	}
	r.any, r.last = true, newest
}
