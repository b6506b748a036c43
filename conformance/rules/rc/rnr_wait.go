package rc

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

var rnrWait = rule.Rule{
	ID: "RC-RNR-002", Level: rule.Must,
	Title: "After an RNR NAK the request is not retried before the time of the timer code",
	Source: rule.Source{Ref: "IBTA 9.7.5.2.8, table 45",
		Requirement: "The requester waits at least the time of the timer field before it retries the request."},
	Needs: rule.TapRequester, Sees: rule.RequestOut | rule.ResponseIn, Minds: rule.Late | rule.Answer,
	Wakes: rule.Asking, Dozes: true, Stimulus: "an RNR NAK and the retry", BlackBox: hardware,
	New: func(c *rule.Context) rule.Check { return rule.Check{Sight: (&rnrPause{c: c}).sight} },
}

// rnrPause is the time for which a request that was refused must not be sent again.
type rnrPause struct {
	c       *rule.Context
	waiting bool
	psn     psn.PSN    // of the request, and of the latest RNR NAK
	at      vtime.Time // arrival of the NAK
	until   vtime.Time
	sent    int        // transmissions of psn up to the latest retry, or up to the first transmission
	pending bool       // when the NAK came, a retransmission for another cause may have been in the port
	missed  psn.PSN    // PSN of the latest sequence NAK
	asked   vtime.Time // its arrival; 0 when there was none since the latest retransmission
	heard   vtime.Time // arrival of the latest response, at which the timer may have been restarted; 0 before
}

func (r *rnrPause) sight(s *rule.Sight) {
	switch {
	case s.Point == trace.RequesterIn:
		r.answer(s)
	case s.Pkt.PSN == r.missed:
		r.asked = 0
	}
	if s.Point == trace.RequesterIn || !r.waiting || s.Pkt.PSN != r.psn {
		return
	}
	if r.departing(s) {
		r.pending = false
		return
	}
	r.waiting, r.sent = false, r.times()+1
	if s.Before(r.until) {
		if c := r.c; c.Port.Stalls() && c.OutstandingReads() > 0 && c.InPort(s, r.at) {
			c.Doubt("the RNR NAK may have waited in the receive pipeline behind data whose bitmap queries stall it")
			return
		}
		r.c.Failf(rule.Requester, "%s is retried %v too early", r.c.Rel(r.psn), r.until.Sub(s.At))
		return
	}
	r.c.Met()
}

// departing reports whether a retransmission does not follow from the RNR NAK: it was leaving when the NAK arrived, or
// a timer or a sequence NAK had caused it before.
func (r *rnrPause) departing(s *rule.Sight) bool {
	return r.c.Began(s) < r.at || r.pending && r.c.InPort(s, r.at)
}

// times returns how often the request has been sent; 0 when that is no longer known.
func (r *rnrPause) times() int {
	if t := r.c.Sent(r.psn); t != nil {
		return int(t.Times)
	}
	return 0
}

func (r *rnrPause) answer(s *rule.Sight) {
	c, p := r.c, s.Pkt
	switch _, next, _, reading := c.OldestRead(); {
	case !s.Intact() || p.Opcode != roce.Acknowledge || !p.PSN.In(c.UNA, c.MAX):
	case reading && next.Less(p.PSN): // READ data before it are missing and are asked for at once (IBTA 9.7.5)
	case rule.IsNAK(p):
		r.missed, r.asked = p.PSN, s.At
	case rule.IsRNR(p):
		r.refused(s)
	}
	if s.Intact() {
		r.heard = s.At
	}
}

func (r *rnrPause) refused(s *rule.Sight) {
	p := s.Pkt
	switch {
	case p.PSN != r.psn || r.sent == 0:
		r.psn, r.sent = p.PSN, 1
	case r.waiting:
		return
	}
	r.waiting, r.at, r.until = true, s.At, s.At.Add(roce.RNRTimer(p.AETH.Syndrome.Timer()).Duration())
	r.pending = r.times() != r.sent || r.asked > 0 && r.missed == r.psn || r.expired(s.At)
}

// expired reports whether the transport timer may have expired by now, if it ran on through the wait: a retry that
// follows from an earlier RNR NAK need not restart it.
func (r *rnrPause) expired(now vtime.Time) bool {
	t := r.c.Attr.TransportTimer()
	return r.c.Known && t > 0 && r.heard > 0 && now.Sub(r.heard) >= t-rule.TimerEarly(t)
}

// rnrUnlimited is the value of the RNR retry attribute that sets no limit (IBTA 9.7.5.2.8).
const rnrUnlimited = 7

var rnrRetries = rule.Rule{
	ID: "RC-RNR-003", Level: rule.Must,
	Title: "With rnr_retry r below 7 a request is retried r times and then fails with RNR_RETRY_EXC_ERR; 7 sets no limit",
	Source: rule.Source{Ref: "IBTA 9.7.5.2.8, 11.2.5.2", Requirement: "When the RNR NAK retry counter is exhausted the " +
		"request completes in error; a count of 7 means to retry without end."},
	Needs: rule.TapRequester | rule.Attributes, Sees: rule.RequestOut | rule.ResponseIn,
	Minds: rule.Late | rule.Answer, Stimulus: "a responder that stays without receives", BlackBox: hardware,
	New: func(c *rule.Context) rule.Check {
		r := rnrCount{c: c, told: c.Offers(rule.Done)}
		return rule.Check{Sight: r.sight, Event: r.event}
	},
}

// rnrCount counts the retries of one PSN that followed an RNR NAK. Where completions are not reported, a transmission
// before the time of the NAK is none: it was caused before, and its sender need not count the NAK that it draws.
type rnrCount struct {
	c       *rule.Context
	told    bool // completions are reported
	psn     psn.PSN
	refused bool       // an RNR NAK of psn came since its latest transmission
	until   vtime.Time // end of the time of that NAK
	retries int
}

func (r *rnrCount) sight(s *rule.Sight) {
	c, p := r.c, s.Pkt
	limit := int(c.Attr.RNRRetry)
	if s.Point == trace.RequesterIn {
		if s.Intact() && rule.IsRNR(p) && p.PSN.In(c.UNA, c.MAX) {
			r.nak(s)
		}
		return
	}
	if !r.refused || p.PSN != r.psn || !r.told && s.Before(r.until) {
		return
	}
	r.refused = false
	r.retries++
	switch {
	case limit != rnrUnlimited && r.retries > limit:
		c.Failf(rule.Requester, "%s is retried %d times, rnr_retry is %d", c.Rel(p.PSN), r.retries, limit)
	case limit == rnrUnlimited && r.retries > limit, !r.told && r.retries == limit:
		c.Met()
	}
}

// nak processes an RNR NAK of a request that is outstanding.
func (r *rnrCount) nak(s *rule.Sight) {
	p := s.Pkt
	if p.PSN != r.psn {
		r.retries = 0
	}
	r.psn, r.refused = p.PSN, true
	r.until = s.At.Add(roce.RNRTimer(p.AETH.Syndrome.Timer()).Duration())
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
