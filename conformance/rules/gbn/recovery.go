package gbn

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

func oneRecovery() rule.Rule {
	return rule.Rule{
		ID: "GBN-RTX-005", Level: rule.MustNot,
		Title: "A second NAK of P while P is being recovered does not restart the retransmission",
		Source: rule.Source{Ref: "IBTA 9.7.5.2, soft-RoCE",
			Requirement: "A NAK for a PSN that is being retried already says nothing new, so " +
				"the requester goes on with its retry."},
		Needs: rule.TapRequester | rule.Attributes, Sees: rule.RequestOut | rule.ResponseIn, Features: []string{scheme},
		Stimulus: "a duplicated NAK", BlackBox: "RXE,ENG",
		New: func(c *rule.Context) rule.Check {
			r := recovery{c: c}
			return rule.Check{Sight: r.sight}
		},
	}
}

// recovery counts how often the head of one recovery is sent. The timer may restart it as well, but not before it has
// run out, and it was not running before the head was first sent.
type recovery struct {
	c      *rule.Context
	active bool
	second bool // the NAK has come again
	head   psn.PSN
	since  vtime.Time // when the timer can have started
	at     vtime.Time // when the NAK came
	sent   int
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
		r.active = false // what goes back now may do so for a READ whose data are missing
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
