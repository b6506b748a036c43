package rc

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

func rnrSent() rule.Rule {
	return rule.Rule{
		ID: "RC-RNR-001", Level: rule.Must,
		Title: "A SEND or WRITE with immediate that finds no receive draws an RNR NAK with its PSN and the QP's timer code, and is not executed",
		Source: rule.Source{Ref: "IBTA 9.7.5.2.8", Requirement: "The responder returns an RNR NAK with the PSN of the request for which it has no receive " +
			"WQE, and does not execute the request."},
		Needs: rule.TapResponder, Sees: rule.Accepts | rule.ResponseOut, Wakes: rule.Asking, Stimulus: "a SEND without a posted receive", BlackBox: hardware,
		New: func(c *rule.Context) rule.Check {
			if !c.Offers(rule.Attributes | rule.Posted) {
				return rule.Check{Sight: func(s *rule.Sight) { rnrNamed(c, s) }}
			}
			r := receiver{c: c, nak: c.Owes(rule.Responder, "no RNR NAK for a request that finds no receive")}
			return rule.Check{Sight: r.sight, Event: r.event}
		},
	}
}

// rnrNamed judges an RNR NAK by what it names, where nobody tells which receives are posted.
func rnrNamed(c *rule.Context, s *rule.Sight) {
	p := s.Pkt
	switch {
	case s.Point != trace.ResponderOut || !rule.IsRNR(p):
	case rule.MayWait(c, p.PSN):
		c.Met()
	case c.Started && p.PSN.In(c.Start, c.EPSN):
		c.Failf(rule.Responder, "RNR NAK names %s, which has nothing to wait for, or has been acknowledged; the request that was refused expected", c.Rel(p.PSN))
	}
}

// receiver counts posted receives, and knows which requests must be refused for want of one.
type receiver struct {
	c      *rule.Context
	nak    *rule.Obligation // of a request that found no receive
	posted int              // receives that are left
	takers []psn.PSN        // requests that needed a receive and that no response has passed, oldest first
}

func (r *receiver) event(e *trace.Event) {
	if e.Kind != trace.Receive || r.c.Mine(e) {
		return
	}
	if d := r.nak.Oldest(); d != nil && e.At == d.At {
		r.nak.Excuse(nil) // posted at the same instant, perhaps before
		return
	}
	r.posted++
}

func (r *receiver) sight(s *rule.Sight) {
	p := s.Pkt
	if s.Point == trace.ResponderOut {
		r.response(p)
		return
	}
	if !s.Legal || r.c.Fatal || !rule.TakesReceive(p.Opcode) {
		return
	}
	if len(r.takers) < queueLimit {
		r.takers = append(r.takers, p.PSN)
	}
	switch {
	case r.posted > 0:
		r.posted--
	case !r.nak.Owed():
		r.nak.Arise(s, p.PSN)
	}
}

func (r *receiver) response(p *roce.Packet) {
	c := r.c
	if rule.IsRNR(p) {
		r.refused(p)
		return
	}
	last, ok := rule.Acknowledged(p)
	for ok && len(r.takers) > 0 && r.takers[0].LessEq(last) {
		r.takers = r.takers[1:]
	}
	if d := r.nak.Oldest(); d != nil && ok && d.PSN.LessEq(last) && !rule.IsFatalNAK(p) {
		named := c.Rel(d.PSN)
		r.nak.Excuse(nil)
		if r.posted > 0 {
			r.posted-- // one was posted since, and the request has come again: the NAK had waited behind other responses
			return
		}
		c.Failf(rule.Responder, "%s is acknowledged, but no receive was posted for it; an RNR NAK expected", named)
	}
}

func (r *receiver) refused(p *roce.Packet) {
	c, i := r.c, slices.Index(r.takers, p.PSN)
	switch {
	case i < 0:
		c.Failf(rule.Responder, "RNR NAK names %s, which takes no receive", c.Rel(p.PSN))
	case roce.RNRTimer(p.AETH.Syndrome.Timer()) != c.PeerAttr.MinRNRTimer:
		c.Failf(rule.Responder, "RNR NAK has timer code %d, the QP's is %d", p.AETH.Syndrome.Timer(), c.PeerAttr.MinRNRTimer)
	default:
		c.Met()
	}
	r.takers = r.takers[:max(i, 0)] // they come again
	if r.nak.About(p.PSN) {
		r.nak.Excuse(nil)
	} else if p.PSN.Less(c.EPSN) {
		r.posted++ // it had been counted as taken
	}
}

func rnrWait() rule.Rule {
	return rule.Rule{
		ID: "RC-RNR-002", Level: rule.Must,
		Title: "After an RNR NAK the request is not retried before the time of the timer code",
		Source: rule.Source{Ref: "IBTA 9.7.5.2.8, table 45", Requirement: "The requester waits at least the time of the timer field before it " +
			"retries the request."},
		Needs: rule.TapRequester, Sees: rule.RequestOut | rule.ResponseIn, Wakes: rule.Asking, Stimulus: "an RNR NAK and the retry", BlackBox: hardware,
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
						return // READ data before it are missing, which is seen to at once (IBTA 9.7.5)
					}
					if s.Intact() && s.Pkt.Opcode == roce.Acknowledge && a.IsRNR() && s.Pkt.PSN.In(c.UNA, c.MAX) && !waiting {
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
		Title: "With rnr_retry r below 7 a request is retried r times and then fails with RNR_RETRY_EXC_ERR; 7 sets no limit",
		Source: rule.Source{Ref: "IBTA 9.7.5.2.8, 11.2.5.2", Requirement: "When the RNR NAK retry counter is exhausted the request completes in error; " +
			"a count of 7 means to retry without end."},
		Needs: rule.TapRequester | rule.Attributes | rule.Done, Sees: rule.RequestOut | rule.ResponseIn, Stimulus: "a responder that stays without receives", BlackBox: hardware,
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
	naked   bool // an RNR NAK of psn came since its latest transmission
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
			r.psn, r.naked = p.PSN, true
		}
		return
	}
	if !r.naked || p.PSN != r.psn {
		return
	}
	r.naked = false
	r.retries++
	switch {
	case limit != rnrUnlimited && r.retries > limit:
		c.Failf(rule.Requester, "%s is retried %d times, rnr_retry is %d; so many at most expected", c.Rel(p.PSN), r.retries, limit)
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

// taken is a request that was accepted, or would be.
type taken struct {
	set bool
	psn psn.PSN
}

func rnrNotForWrite() rule.Rule {
	return rule.Rule{
		ID: "RC-RNR-004", Level: rule.MustNot,
		Title: "A WRITE without immediate never draws an RNR NAK",
		Source: rule.Source{Ref: "IBTA 9.7.5.2.8, 9.4.3", Requirement: "An RDMA WRITE without immediate data consumes no receive WQE at the " +
			"responder."},
		Needs: rule.Frames, Sees: rule.Accepts | rule.ResponseOut, Wakes: rule.Asking, Stimulus: "a WRITE while no receive is posted", BlackBox: hardware,
		New: func(c *rule.Context) rule.Check {
			if !c.Offers(rule.TapResponder | rule.Posted) {
				return rule.Check{Sight: func(s *rule.Sight) { rnrAnswered(c, s) }}
			}
			posted := 0
			var recent [256]taken // latest WRITEs, by PSN
			return rule.Check{
				Sight: func(s *rule.Sight) {
					p := s.Pkt
					slot := &recent[p.PSN%256]
					switch {
					case s.Point == trace.ResponderOut:
						if rule.IsRNR(p) && slot.set && slot.psn == p.PSN {
							c.Failf(rule.Responder, "RNR NAK for WRITE %s, which takes no receive", c.Rel(p.PSN))
						}
					case s.Due():
						*slot = taken{p.Opcode.IsWrite() && !p.Opcode.HasImm(), p.PSN}
						if s.Legal && rule.TakesReceive(p.Opcode) {
							posted = max(0, posted-1)
						} else if slot.set && posted == 0 {
							c.Met()
						}
					}
				},
				Event: func(e *trace.Event) {
					if e.Kind == trace.Receive && !c.Mine(e) {
						posted++
					}
				},
			}
		},
	}
}

// rnrAnswered judges an RNR NAK by the request that it answers, as the requester's tap or one between the ports shows it.
func rnrAnswered(c *rule.Context, s *rule.Sight) {
	p, made := s.Pkt, c.Maker(s)
	if !rule.IsRNR(p) || made != rule.AtPort && made != rule.Sealed {
		return
	}
	if t := c.Sent(p.PSN); t != nil && t.Opcode.IsWrite() && !t.Opcode.HasImm() {
		c.Failf(rule.Responder, "RNR NAK for %v %s, which takes no receive", t.Opcode, c.Rel(p.PSN))
	}
}
