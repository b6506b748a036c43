package gbn

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

var oneRecovery = rule.Rule{
	ID: "GBN-RTX-005", Level: rule.MustNot,
	Title: "A second NAK of P while P is being recovered does not restart the retransmission",
	Source: rule.Source{Ref: "IBTA 9.7.5.2, soft-RoCE", Requirement: "A NAK for a PSN that is already being retried is " +
		"no new error, so the requester continues its retry."},
	Needs: rule.TapRequester | rule.Attributes, Sees: rule.RequestOut | rule.ResponseIn, Features: []string{scheme},
	Stimulus: "a duplicated NAK", BlackBox: "RXE,ENG",
	New: func(c *rule.Context) rule.Check { return rule.Check{Sight: (&recovery{c: c}).sight} },
}

// recovery counts how often the head of one recovery is sent. The timer may restart it, but only after its full
// interval, which begins no earlier than the first transmission of the head.
type recovery struct {
	c      *rule.Context
	active bool       // a NAK of head has not been repaired
	second bool       // the NAK arrived again
	head   psn.PSN    // PSN of the NAK
	since  vtime.Time // the earliest start of the timer
	at     vtime.Time // when the NAK arrived
	sent   int        // transmissions of head since
	flow   flow
}

func (r *recovery) sight(s *rule.Sight) {
	c, p := r.c, s.Pkt.PSN
	if s.Point == trace.RequesterIn {
		r.response(s)
		return
	}
	inPort := r.flow.drains(c, s, r.at)
	r.flow.sent(c, s)
	if r.active = r.active && !r.head.Less(c.UNA); !r.active || p != r.head || inPort {
		return
	}
	if r.sent++; r.sent < 2 {
		return
	}
	if t := c.Attr.TransportTimer(); r.second && (t == 0 || s.At.Sub(r.since) < t) {
		c.Failf(rule.Requester, "%s is sent once more upon a second NAK; nothing expected of that one", c.Rel(p))
	}
	r.active = false
}

func (r *recovery) response(s *rule.Sight) {
	c, p := r.c, s.Pkt
	switch {
	case !s.Intact():
	case endsRecovery(p), p.Opcode.IsReadResponse(), rule.IsACK(p) && r.head.LessEq(p.PSN):
		r.active = false // a READ whose data are missing may now make the requester go back
	case !rule.IsNAK(p) || !p.PSN.In(c.UNA, c.MAX) || interval(c) != 0:
	case r.active && p.PSN == r.head:
		r.second = true
		c.Met()
	default:
		*r = recovery{c: c, active: true, head: p.PSN, since: s.At, at: s.At, flow: r.flow}
		if t := c.Sent(p.PSN); t != nil {
			r.since = t.First
		}
	}
}
