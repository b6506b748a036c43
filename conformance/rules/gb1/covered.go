package gb1

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

var rackLost = rule.Rule{
	ID: "GB1-RTX-008", Level: rule.Must,
	Title: "When a RACK is lost the next one covers its gap, and an excess retransmission is acknowledged as a duplicate",
	Source: rule.Source{Ref: "GB1 Algorithm 1, lines 39 to 47",
		Requirement: "Everything between the last RACK and this one is put into the retransmission queue."},
	Needs: rule.Both | rule.Fates | rule.Attributes, Sees: rule.RequestOut | rule.Accepts | rule.Responses,
	Features: features,
	Stimulus: "a lost request, and the loss of its first RACK", BlackBox: engines,
	New: func(c *rule.Context) rule.Check {
		r := covered{c: c, m: newModel(c), answer: c.Owes(rule.Responder, "duplicate %s is not answered; an ACK expected")}
		r.answer.Unless = func(rule.Debt) bool { return c.RNRWait }
		r.answer.Prompt = true
		r.m.expired = r.expired
		return rule.Check{Sight: r.sight, Event: r.m.event}
	},
}

// covered tracks the packet that a lost RACK asked for, and the duplicates that the next RACK causes.
type covered struct {
	c       *rule.Context
	m       *model
	waiting bool // a RACK that expects missing was lost, and missing has not been retransmitted
	missing psn.PSN
	next    bool       // another RACK has arrived since
	at      vtime.Time // when the lost RACK left
	record  uint64     // of the lost RACK

	answer *rule.Obligation // to a duplicate
	told   bool             // acked is set
	// newest PSN acknowledged; the first acknowledgement of a later PSN waits for READ data before it
	acked psn.PSN
}

func (r *covered) sight(s *rule.Sight) {
	c, p := r.c, s.Pkt
	switch s.Point {
	case trace.ResponderOut:
		if isRACK(p) && s.Rec.Lost() && !r.waiting && !p.PSN.Less(c.UNA) && !r.m.covers(p.PSN) {
			r.waiting, r.next, r.missing, r.at, r.record = true, false, p.PSN, s.At, s.Index
		}
		if last, ok := rule.Acknowledged(p); ok {
			r.acknowledged(last)
		}
		if p.AETH.Syndrome.IsRNR() {
			// It was not a duplicate: nothing from the refused packet on was accepted.
			r.answer.Excuse(func(d rule.Debt) bool { return p.PSN.LessEq(d.PSN) })
		}
	case trace.RequesterIn:
		r.next = r.m.response(s) && r.waiting && r.missing.LessEq(p.PSN) || r.next
	case trace.RequesterOut:
		r.m.sent(s)
		if r.waiting && p.PSN == r.missing && s.Relation == rule.Again {
			if r.next {
				c.Met()
			}
			r.waiting = false
		}
	default:
		if s.Relation == rule.Duplicate && rule.IsData(p.Opcode) && p.AckReq && !r.answer.Owed() && !c.Fatal &&
			r.told && p.PSN.LessEq(r.acked) {
			r.answer.Arise(s, p.PSN)
		}
	}
	r.waiting = r.waiting && !r.missing.Less(c.UNA)
}

// acknowledged processes an acknowledgement that leaves.
func (r *covered) acknowledged(last psn.PSN) {
	if !r.told || r.acked.Less(last) {
		r.told, r.acked = true, last
	}
	r.answer.Excuse(func(d rule.Debt) bool { return d.PSN.LessEq(last) })
}

// expired reports a packet that only the timer retransmitted.
func (r *covered) expired(at vtime.Time) {
	if r.waiting && r.next && !r.m.void && !r.c.Port.Lags(r.at, at) {
		r.c.FailAt(r.at, r.record, rule.Requester,
			r.c.Rel(r.missing)+" is left to the timer, although a RACK after the one lost covers it")
	}
	r.waiting = false
}
