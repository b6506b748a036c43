package rc

import (
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

var timeoutInterval = rule.Rule{
	ID: "RC-TMO-001", Level: rule.Must,
	Title: "Without a response the retransmission begins between T_tr and 4 T_tr after the timer's last restart",
	Source: rule.Source{Ref: "IBTA 9.7.6.1.3, C9-139", Requirement: "The requester times out no sooner than the timeout " +
		"interval T_tr and no later than four times T_tr."},
	Needs: rule.TapRequester | rule.Attributes, Sees: rule.RequestOut | rule.ResponseIn,
	Stimulus: "all acknowledgements lost", BlackBox: hardware,
	New: func(c *rule.Context) rule.Check {
		r, t := newRounds(c), period(c)
		return rule.Check{Sight: func(s *rule.Sight) {
			begun, ok := r.sight(s)
			switch {
			case !ok || !begun.byTimer || t == 0 || readApart(s.Pkt):
			case begun.max < t-rule.TimerEarly(t):
				c.Failf(rule.Requester, "%s is sent again after %v, T_tr is %s", c.Rel(s.Pkt.PSN), begun.max, transportTimer(c))
			case c.Late(rule.Requester, s.At.Add(rule.TimerSlow*t-begun.min), rule.TimerSlack(t), s.At):
				c.Failf(rule.Requester, "%s is sent again only after %v, T_tr is %s",
					c.Rel(s.Pkt.PSN), begun.min, transportTimer(c))
			default:
				c.Met()
			}
		}}
	},
}

// transportTimer returns the nominal period of the timer and the code that sets it, which a user may have stated.
func transportTimer(c *rule.Context) string {
	t := c.Attr.TransportTimer().String()
	if c.Attr.RTO == 0 {
		t += fmt.Sprintf(" by timeout=%d", c.Attr.Timeout)
	}
	return t
}

var timeoutRetries = rule.Rule{
	ID: "RC-TMO-002", Level: rule.Must,
	Title: "Without progress RETRY_EXC_ERR comes after retry_cnt rounds of retransmission; progress reloads the count",
	Source: rule.Source{Ref: "IBTA 9.9.2.1, 9.7.6.1.3", Requirement: "The retry counter is decremented for each retry " +
		"and reloaded on progress; when it is exhausted the request completes in error."},
	Needs: rule.TapRequester, Sees: rule.RequestOut | rule.ResponseIn,
	Wakes: rule.Late | rule.Asking | rule.Fetch, Stimulus: "a black hole",
	BlackBox: hardware,
	New: func(c *rule.Context) rule.Check {
		r, limit := newRounds(c), int(c.Attr.RetryCount)
		if !c.Known {
			limit = mostRetries
		}
		return rule.Check{
			Sight: func(s *rule.Sight) {
				if _, ok := r.sight(s); ok && r.spent > limit {
					c.Failf(rule.Requester, "round %d of retransmission, retry_cnt is %d", r.spent, limit)
				}
			},
			Event: func(e *trace.Event) {
				if e.Kind == trace.Timeout && c.Mine(e) {
					r.fired = e.At
				}
				if e.Kind != trace.CQE || !c.Mine(e) || e.Body.Status != engine.StatusRetryExceeded {
					return
				}
				// Progress that the requester has not processed yet did not reload the counter. Whether a round
				// that a NAK asked for counts depends on the PSNs that the NAK acknowledged.
				if c.UNA != c.Start && c.Port.Lags(max(r.reply, r.timer.acked), e.At) {
					return
				}
				if r.stuck < limit || r.spent > limit {
					c.Failf(rule.Requester, "wr=%d gives up after %d rounds, retry_cnt is %d", e.Body.ID, r.stuck, limit)
				} else {
					c.Met()
				}
			},
		}
	},
}

// mostRetries is the largest retry count: the attribute has three bits (IBTA 11.2.5.2).
const mostRetries = 7

var timerDisabled = rule.Rule{
	ID: "RC-TMO-004", Level: rule.Must,
	Title: "A timeout code of 0 turns the timer off: silence causes no retransmission",
	Source: rule.Source{Ref: "IBTA 9.7.6.1.3, 11.2.5.2",
		Requirement: "A local ACK timeout of zero means that the transport timer is disabled."},
	Needs: rule.TapRequester | rule.Attributes, Sees: rule.RequestOut | rule.ResponseIn,
	Stimulus: "a black hole, with timeout code 0", BlackBox: hardware,
	New: func(c *rule.Context) rule.Check {
		r := newRounds(c)
		off := c.Attr.TransportTimer() == 0
		return rule.Check{
			Sight: func(s *rule.Sight) {
				if begun, ok := r.sight(s); ok && begun.byTimer && off {
					c.Failf(rule.Requester,
						"%s is sent again after %v, the timer is off by timeout=0; nothing expected before an answer",
						c.Rel(s.Pkt.PSN), begun.max)
				}
			},
			End: func(at vtime.Time) {
				if off && c.UNA != c.MAX && !c.Failed && at.Sub(r.timer.touched) > rule.Patience {
					c.Met()
				}
			},
		}
	},
}

var timerProfile = rule.Rule{
	ID: "RC-TMO-005", Level: rule.Should, Rests: validity.Path,
	Title: "T_tr is at least 1.5 times the round-trip time of the path; otherwise expect spurious timeouts",
	Source: rule.Source{Ref: "protocol profile; IBTA 9.7.6.1.3", Requirement: "A timer shorter than the round trip " +
		"expires before any acknowledgement can return, so every request is sent twice."},
	Needs: rule.TapRequester | rule.Attributes, Sees: rule.RequestOut | rule.ResponseIn,
	Minds: rule.Late | rule.Answer, Stimulus: "an acknowledged request, which measures the round trip",
	BlackBox: "EMU",
	New: func(c *rule.Context) rule.Check {
		least := vtime.Duration(vtime.Never) // shortest round trip seen
		again := vtime.Time(-1)              // the latest retransmission
		answered := vtime.Time(-1)           // the latest answer
		alone := false                       // whether a request that waited behind no other of its QP gave a round trip
		return rule.Check{
			Sight: func(s *rule.Sight) {
				if s.Relation == rule.Again && s.Point == trace.RequesterOut {
					again = s.At
				}
				if s.Point == trace.RequesterOut {
					return
				}
				// A retransmitted request gives no sample: which copy was acknowledged is not known (Karn and
				// Partridge 1987). Nor does a request outstanding at a retransmission: its ACK may answer the
				// retransmitted one.
				if t := c.Sent(s.Pkt.PSN); s.Intact() && !s.Pkt.Opcode.NumberedApart() && t != nil &&
					t.Times == 1 && t.First > again &&
					s.Pkt.PSN.In(c.UNA, c.MAX) {
					least = min(least, s.At.Sub(t.First))
					alone = alone || s.Pkt.PSN == c.UNA && t.First > answered
				}
				answered = s.At
			},
			End: func(vtime.Time) {
				t := c.Attr.TransportTimer()
				switch {
				case least == vtime.Duration(vtime.Never) || t == 0:
				case 2*t < 3*least && !alone: // all that a cut capture has of a path may have waited in its queue
				case 2*t < 3*least:
					c.Failf(rule.Requester,
						"T_tr is %s, the round trip takes %v: spurious timeouts expected", transportTimer(c), least)
				default:
					c.Met()
				}
			},
		}
	},
}

var ackRequested = rule.Rule{
	ID: "RC-ACK-005", Level: rule.Must,
	Title: "The last packet of a message asks for an acknowledgement, or a packet soon after it does",
	Source: rule.Source{Ref: "IBTA 9.7.5.1.2; soft-RoCE",
		Requirement: "The requester sets AckReq so often that its last request is acknowledged without its timer."},
	Needs: rule.TapRequester, Sees: rule.RequestOut | rule.ResponseIn,
	Minds: rule.Asked | rule.Edge | rule.Fetch | rule.Asking, Stimulus: "any message", BlackBox: hardware,
	New: func(c *rule.Context) rule.Check { return rule.Check{Sight: (&asking{c: c}).sight} },
}

// asking watches whether requests ask for acknowledgements.
type asking struct {
	c     *rule.Context
	owes  *rule.Obligation // nil before a message has ended without asking
	drawn psn.PSN          // newest request that asks, or that a NAK names; valid when any is true
	any   bool
}

func (a *asking) sight(s *rule.Sight) {
	p := s.Pkt
	switch {
	case s.Point == trace.RequesterIn:
		if rule.IsNAK(p) || rule.IsRNR(p) {
			a.draws(p.PSN)
		}
	case p.AckReq, p.Opcode.AnsweredByData(): // which is always answered
		if a.owes != nil {
			a.owes.Excuse(nil)
		}
		a.draws(p.PSN)
		a.c.Met()
	case !p.Opcode.EndsMessage():
	case a.owes == nil:
		a.owes = a.c.Owes(rule.Requester, "nothing asks for an acknowledgement of %s; AckReq expected")
		a.owes.Arise(s, p.PSN)
	case !a.owes.Owed():
		a.owes.Arise(s, p.PSN)
	case p.PSN == a.c.UNA && p.PSN == a.owes.Oldest().PSN && !(a.any && p.PSN.LessEq(a.drawn)):
		a.owes.Expire(s.At) // the timer has done what AckReq should do, before the requester gives up
	}
}

func (a *asking) draws(p psn.PSN) {
	if !a.any || a.drawn.Less(p) {
		a.drawn, a.any = p, true
	}
}
