package rc

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

func rnrWait() rule.Rule {
	return rule.Rule{
		ID: "RC-RNR-002", Level: rule.Must,
		Title: "After an RNR NAK the request is not retried before the time of the timer code",
		Source: rule.Source{Ref: "IBTA 9.7.5.2.8, table 45",
			Requirement: "The requester waits at least the time of the timer field before it retries the request."},
		Needs: rule.TapRequester, Sees: rule.RequestOut | rule.ResponseIn, Minds: rule.Late | rule.Answer,
		Wakes: rule.Asking, Dozes: true, Stimulus: "an RNR NAK and the retry", BlackBox: hardware,
		New: func(c *rule.Context) rule.Check {
			waiting := false
			var p psn.PSN
			var until vtime.Time
			return rule.Check{Sight: func(s *rule.Sight) {
				a := s.Pkt.AETH.Syndrome
				switch {
				case s.Point == trace.RequesterIn:
					_, next, _, reading := c.OldestRead()
					if reading && next.Less(s.Pkt.PSN) {
						return // READ data before it are missing and are asked for at once (IBTA 9.7.5)
					}
					if s.Intact() && s.Pkt.Opcode == roce.Acknowledge && a.IsRNR() &&
						s.Pkt.PSN.In(c.UNA, c.MAX) && !waiting {
						waiting, p = true, s.Pkt.PSN
						until = s.At.Add(roce.RNRTimer(a.Timer()).Duration())
					}
				case !waiting || s.Pkt.PSN != p:
				case s.Before(until):
					waiting = false
					c.Failf(rule.Requester, "%s is retried %v too early", c.Rel(p), until.Sub(s.At))
				default:
					waiting = false
					c.Met()
				}
			}}
		},
	}
}

// rnrUnlimited is the value of the RNR retry attribute that sets no limit (IBTA 9.7.5.2.8).
const rnrUnlimited = 7

func rnrRetries() rule.Rule {
	return rule.Rule{
		ID: "RC-RNR-003", Level: rule.Must,
		Title: "With rnr_retry r below 7 a request is retried r times and then fails with " +
			"RNR_RETRY_EXC_ERR; 7 sets no limit",
		Source: rule.Source{Ref: "IBTA 9.7.5.2.8, 11.2.5.2",
			Requirement: "When the RNR NAK retry counter is exhausted the request completes in error; " +
				"a count of 7 means to retry without end."},
		Needs: rule.TapRequester | rule.Attributes | rule.Done, Sees: rule.RequestOut | rule.ResponseIn,
		Minds: rule.Late | rule.Answer, Stimulus: "a responder that stays without receives", BlackBox: hardware,
		New: func(c *rule.Context) rule.Check {
			r := rnrCount{c: c}
			return rule.Check{Sight: r.sight, Event: r.event}
		},
	}
}

// rnrCount counts the retries of one PSN that followed an RNR NAK.
type rnrCount struct {
	c       *rule.Context
	psn     psn.PSN
	refused bool // an RNR NAK of psn came since its latest transmission
	retries int
}

func (r *rnrCount) sight(s *rule.Sight) {
	c, p := r.c, s.Pkt
	limit := int(c.Attr.RNRRetry)
	if s.Point == trace.RequesterIn {
		if s.Intact() && rule.IsRNR(p) && p.PSN.In(c.UNA, c.MAX) {
			if p.PSN != r.psn {
				r.retries = 0
			}
			r.psn, r.refused = p.PSN, true
		}
		return
	}
	if !r.refused || p.PSN != r.psn {
		return
	}
	r.refused = false
	r.retries++
	switch {
	case limit != rnrUnlimited && r.retries > limit:
		c.Failf(rule.Requester, "%s is retried %d times, rnr_retry is %d",
			c.Rel(p.PSN), r.retries, limit)
	case limit == rnrUnlimited && r.retries > limit:
		c.Met()
	}
}

func (r *rnrCount) event(e *trace.Event) {
	if e.Kind != trace.CQE || !r.c.Mine(e) || e.Body.Status != engine.StatusRNRRetryExceeded {
		return
	}
	switch limit := int(r.c.Attr.RNRRetry); {
	case limit == rnrUnlimited:
		r.c.Failf(rule.Requester, "wr=%d gives up although rnr_retry 7 sets no limit", e.Body.ID)
	case r.retries != limit:
		r.c.Failf(rule.Requester, "wr=%d gives up after %d retries, rnr_retry is %d", e.Body.ID, r.retries, limit)
	default:
		r.c.Met()
	}
}
