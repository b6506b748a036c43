package wrk

import (
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

var completesOnce = rule.Rule{
	ID: "WRK-CQE-001", Level: rule.Must, Rests: validity.Sequence,
	Title:  "Every posted signalled request completes once before the run ends, or the run says which did not",
	Source: rule.Source{Ref: ours, Requirement: "A request that was taken completes, well or with an error, and once."},
	Needs:  rule.Assigned | rule.Completions, Any: true, Stimulus: "a request that is posted", BlackBox: telling,
	New: func(c *rule.Context) rule.Check {
		l := newLedger(c)
		return rule.Check{
			Event: func(e *trace.Event) {
				switch l.event(e, c.Known && c.Attr.CQModeration > 1); {
				case !c.Mine(e) || e.Kind != trace.CQE || l.open.full:
				case l.lost:
					c.Failf(rule.Requester, "wr=%d completes and is not outstanding", e.Body.ID)
				default:
					c.Met()
				}
			},
			End: func(vtime.Time) {
				if n, oldest := l.open.owed(); n > 0 && !l.open.full && c.Idle() && c.Until() == vtime.Never {
					c.Failf(rule.Requester, "the endpoint is idle and %d requests never complete, the oldest is wr=%d", n, oldest)
				}
			},
		}
	},
}

var errorHasCause = rule.Rule{
	ID: "WRK-CQE-002", Level: rule.Must,
	Title: "A completion with error has a cause on the wire, or in the limits, that fits its status",
	Source: rule.Source{Ref: "IBTA 10.10", Requirement: "The status of a completion with error tells what went " +
		"wrong: the NAK that arrived, or the limit that was reached."},
	Needs: rule.TapRequester | rule.Attributes | rule.Flushed, Sees: rule.RequestOut | rule.ResponseIn,
	Stimulus: "a completion with error", Minds: rule.Edge | rule.Late | rule.Answer, BlackBox: hardware,
	New: func(c *rule.Context) rule.Check {
		r := reasons{c: c}
		return rule.Check{Sight: r.sight, Event: r.event}
	},
}

// reasons holds the events at the requester's tap that may end a request in error.
type reasons struct {
	c    *rule.Context
	naks [256]bool // syndromes received
	// a retransmission was sent since the latest request that succeeded; a READ may be retried often and get some data
	// each time
	again  bool
	rnr    bool       // an RNR NAK came since then
	since  vtime.Time // time of the first request, or of the latest success
	begun  bool       // a request was sent
	failed bool       // an error completion was seen; later requests are flushed
}

func (r *reasons) sight(s *rule.Sight) {
	p := s.Pkt
	switch {
	case s.Point == trace.RequesterOut:
		if !r.begun {
			r.begun, r.since = true, s.At
		}
		r.again = r.again || s.Relation != rule.First
	case s.Intact() && p.Opcode == roce.Acknowledge && !p.AETH.Syndrome.IsACK():
		r.naks[p.AETH.Syndrome] = true
		r.rnr = r.rnr || p.AETH.Syndrome.IsRNR()
	}
}

func (r *reasons) event(e *trace.Event) {
	c := r.c
	switch {
	case e.Kind != trace.CQE || !c.Mine(e) || r.failed:
		return
	case e.Body.Status == engine.StatusSuccess:
		r.again, r.rnr, r.since = false, false, e.At
		return
	}
	r.failed = true
	timer := c.Attr.TransportTimer()
	switch status := e.Body.Status; {
	case fatalOf[status] != 0 && !r.naks[fatalOf[status]]:
		c.Failf(rule.Requester, "wr=%d completes with %v, but no NAK %#02x has arrived", e.Body.ID, status,
			uint8(fatalOf[status]))
	case status == engine.StatusRNRRetryExceeded && !r.rnr:
		c.Failf(rule.Requester, "wr=%d completes with %v, but no RNR NAK has arrived for it", e.Body.ID, status)
	case status == engine.StatusRetryExceeded && !r.begun:
		c.Failf(rule.Requester, "wr=%d completes with %v before anything is sent", e.Body.ID, status)
	case status == engine.StatusRetryExceeded && c.Attr.RetryCount > 0 && !r.again &&
		(timer == 0 || e.At.Sub(r.since) < timer):
		c.Failf(rule.Requester, "wr=%d completes with %v, but nothing was sent again since the latest success",
			e.Body.ID, status)
	case fatalOf[status] != 0, status == engine.StatusRNRRetryExceeded, status == engine.StatusRetryExceeded:
		c.Met()
	}
}

// fatalOf maps a status to the NAK that causes it.
var fatalOf = map[engine.Status]roce.Syndrome{engine.StatusRemoteInvalid: roce.SyndromeInvalidReq,
	engine.StatusRemoteAccess: roce.SyndromeRemoteAccess, engine.StatusRemoteOp: roce.SyndromeRemoteOp}

var flushHasCause = rule.Rule{
	ID: "WRK-CQE-003", Level: rule.Must, Rests: validity.Sequence,
	Title: "WR_FLUSH_ERR comes only after a fatal cause on that QP, and never for the request that failed",
	Source: rule.Source{Ref: "IBTA 10.3.1", Requirement: "The request that brings a queue pair into error completes " +
		"with its own status; those behind it are flushed."},
	Needs: rule.TapRequester | rule.Assigned | rule.Flushed, Sees: rule.Responses,
	Stimulus: "a request that is flushed", BlackBox: hardware,
	New: func(c *rule.Context) rule.Check {
		f := flushes{causes: causes{c: c}, flushed: vtime.Never}
		return rule.Check{Sight: f.sight, Event: f.event, End: f.end}
	},
}

// flushes judges the first requests that a queue pair flushes.
type flushes struct {
	causes
	came    bool       // a fatal NAK came for a request of this half, before any other cause
	flushed vtime.Time // when the first request was flushed without a cause; Never before
	id      uint64     // of that request
	told    bool       // the failure was reported: by the status of a request, or as a finding
}

func (f *flushes) sight(s *rule.Sight) {
	fatal := rule.IsFatalNAK(s.Pkt)
	if s.Point == trace.RequesterIn && s.Intact() && fatal && !f.any() && s.Pkt.PSN.In(f.c.UNA, f.c.MAX) {
		f.came = true
	}
	f.causes.sight(s)
}

func (f *flushes) event(e *trace.Event) {
	if !f.c.Mine(e) || e.Kind != trace.CQE || e.Body.Status == engine.StatusSuccess {
		f.causes.event(e)
		return
	}
	switch {
	case e.Body.Status != engine.StatusFlushed:
		f.told = true
	case f.flushed != vtime.Never:
	case f.came && !f.told:
		f.told = true
		f.c.Failf(rule.Requester, "wr=%d is flushed, but no request has the status of the NAK that arrived", e.Body.ID)
	case f.any():
		f.c.Met()
	default:
		f.flushed, f.id = e.At, e.Body.ID
	}
	if e.Body.Status != engine.StatusFlushed {
		f.causes.event(e)
	}
}

// end reports a flush without a cause, unless the end of the run flushed the request.
func (f *flushes) end(vtime.Time) {
	until := f.c.Until()
	if f.flushed == vtime.Never || f.any() || until == vtime.Never && !f.c.Idle() || f.flushed >= until {
		return
	}
	f.c.FailAt(f.flushed, rule.NoRecord, rule.Requester,
		fmt.Sprintf("wr=%d is flushed, but the queue pair has not failed", f.id))
}
