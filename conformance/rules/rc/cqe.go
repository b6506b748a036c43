package rc

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

var completionOrder = rule.Rule{
	ID: "RC-CQE-001", Level: rule.Must, Rests: validity.Sequence,
	Title: "Work requests complete in the order of posting, once each when signalled",
	Source: rule.Source{Ref: "IBTA 10.8.3.1, C10-97", Requirement: "Work completions of a send queue are returned in " +
		"the order in which the work requests were submitted."},
	Needs: rule.Ordered, Stimulus: "completions, with a lost request", BlackBox: hardware,
	New: func(c *rule.Context) rule.Check {
		var q sendQueue
		return rule.Check{Event: func(e *trace.Event) {
			if !c.Mine(e) {
				return
			}
			switch e.Kind {
			case trace.Post:
				q.post(e)
			case trace.CQE:
				_, skipped, ok := q.complete(e.Body.ID)
				switch {
				case !ok:
					c.Failf(rule.Requester, "wr=%d completes and is not outstanding; once expected", e.Body.ID)
				case skipped > 0 && c.Known && c.Attr.CQModeration <= 1:
					c.Failf(rule.Requester,
						"wr=%d completes before %d older requests; the order of posting expected",
						e.Body.ID, skipped)
				default:
					c.Met()
				}
			}
		}}
	},
}

var completionAfterAck = rule.Rule{
	ID: "RC-CQE-002", Level: rule.MustNot,
	Title: "A SEND or WRITE never completes before its last PSN is acknowledged",
	Source: rule.Source{Ref: "IBTA 9.7.3, 10.8.6", Requirement: "The requester completes a SEND or RDMA WRITE when the " +
		"acknowledgement of its last packet has been received."},
	Needs: rule.TapRequester | rule.Done, Sees: rule.RequestOut, Minds: rule.Edge,
	Stimulus: "a SEND or WRITE that completes, ACKs delayed", BlackBox: hardware,
	New: func(c *rule.Context) rule.Check {
		return success(c, func(w wqe) bool {
			return w.op != engine.OpRead && w.op != engine.OpCompareSwap && w.op != engine.OpFetchAdd
		},
			"is not acknowledged")
	},
}

// success is a check that a work request of the chosen kind has been answered in full when it completes with success.
func success(c *rule.Context, judged func(wqe) bool, lack string) rule.Check {
	var q sendQueue
	return rule.Check{
		Sight: func(s *rule.Sight) { q.request(c, s) },
		Event: func(e *trace.Event) {
			if !c.Mine(e) {
				return
			}
			if e.Kind == trace.Post {
				q.post(e)
			}
			if e.Kind != trace.CQE {
				return
			}
			w, _, ok := q.complete(e.Body.ID)
			switch {
			case !ok || !judged(w) || e.Body.Status != engine.StatusSuccess:
			case !w.sent:
				c.Failf(rule.Requester, "wr=%d completes before it is sent", w.id)
			case !c.Answered(w.last):
				c.Failf(rule.Requester, "wr=%d completes while %s %s", w.id, c.Rel(w.last), lack)
			default:
				c.Met()
			}
		},
	}
}

var readCompletion = rule.Rule{
	ID: "RC-CQE-003", Level: rule.Must,
	Title: "A READ completes only after all its data have arrived and are in local memory",
	Source: rule.Source{Ref: "IBTA 9.7.3, 10.8.6",
		Requirement: "An RDMA READ completes when all its response data have been placed in the local buffer."},
	Needs: rule.TapRequester | rule.Done, Sees: rule.RequestOut, Minds: rule.Edge,
	Stimulus: "a READ with a lost response", BlackBox: hardware,
	New: func(c *rule.Context) rule.Check {
		var asked, stored uint64 // bytes of completed READs, and bytes placed in the requester's memory
		lens := map[uint64]uint32{}
		check := success(c, func(w wqe) bool { return w.op == engine.OpRead }, "has not arrived")
		wire := check.Event
		check.Event = func(e *trace.Event) {
			wire(e)
			switch {
			case !c.Mine(e):
			case e.Kind == trace.Store:
				stored += uint64(e.Len)
			case e.Kind == trace.Post && e.Body.Op == engine.OpRead && len(lens) < queueLimit:
				lens[e.Body.ID] = e.Len
			case e.Kind == trace.CQE && e.Body.Status == engine.StatusSuccess:
				asked += uint64(lens[e.Body.ID])
				delete(lens, e.Body.ID)
				if c.Offers(rule.Stores) && stored < asked {
					c.Failf(rule.Requester, "READ wr=%d completes with %d bytes not in memory", e.Body.ID, asked-stored)
				}
			}
		}
		return check
	},
}

var readNotAcked = rule.Rule{
	ID: "RC-READ-005", Level: rule.Must,
	Title: "An ACK beyond an outstanding READ is not taken as the completion of the READ",
	Source: rule.Source{Ref: "IBTA 9.7.5.1.1, C9-109", Requirement: "An acknowledgement of a later request implies that " +
		"the READ's response is missing; only its data complete a READ."},
	Needs: rule.TapRequester | rule.Done, Sees: rule.RequestOut | rule.ResponseIn, Minds: rule.Edge | rule.Answer,
	Stimulus: "an ACK beyond a READ whose responses are missing", BlackBox: hardware,
	New: func(c *rule.Context) rule.Check {
		var q sendQueue
		beyond, read := false, psn.PSN(0) // such an ACK came, and that READ has not been answered since
		return rule.Check{
			Sight: func(s *rule.Sight) {
				if s.Point == trace.RequesterOut {
					q.request(c, s)
					return
				}
				_, next, _, ok := c.OldestRead()
				if s.Intact() && ok && rule.IsACK(s.Pkt) &&
					next.LessEq(s.Pkt.PSN) && s.Pkt.PSN.Less(c.MAX) {
					beyond, read = true, next
					c.Met()
				}
			},
			Event: func(e *trace.Event) {
				if e.Kind == trace.Post && c.Mine(e) {
					q.post(e)
				}
				if e.Kind != trace.CQE || !c.Mine(e) {
					return
				}
				w, _, ok := q.complete(e.Body.ID)
				beyond = beyond && !read.Less(c.UNA)
				if beyond && ok && w.op == engine.OpRead && e.Body.Status == engine.StatusSuccess &&
					!c.Answered(w.last) {
					c.Failf(rule.Requester, "READ wr=%d completes by an ACK beyond it; its data expected first", w.id)
				}
			},
		}
	},
}

var flushAfterError = rule.Rule{
	ID: "RC-CQE-004", Level: rule.Must,
	Title: "After an error completion every later work request completes with WR_FLUSH_ERR, in order, and none is lost",
	Source: rule.Source{Ref: "IBTA 10.3.1, 10.8.3.1", Requirement: "When a QP enters the error state its outstanding " +
		"work requests are completed in error with the flushed status."},
	Needs: rule.Flushed, Stimulus: "an error completion with requests outstanding", BlackBox: hardware,
	New: func(c *rule.Context) rule.Check {
		var q sendQueue
		failed := false
		return rule.Check{
			Event: func(e *trace.Event) {
				if e.Kind == trace.Post && c.Mine(e) {
					q.post(e)
				}
				if e.Kind != trace.CQE || !c.Mine(e) {
					return
				}
				_, skipped, ok := q.complete(e.Body.ID)
				switch {
				case failed && e.Body.Status != engine.StatusFlushed:
					c.Failf(rule.Requester, "wr=%d completes with %v after an error; WR_FLUSH_ERR expected", e.Body.ID, e.Body.Status)
				case failed && ok && skipped > 0:
					c.Failf(rule.Requester,
						"wr=%d is flushed before %d older requests; the order of posting expected",
						e.Body.ID, skipped)
				case failed:
					c.Met()
				}
				failed = failed || e.Body.Status != engine.StatusSuccess
			},
			End: func(vtime.Time) {
				if failed && q.outstanding() > 0 {
					c.Failf(rule.Requester, "%d requests never complete after the error, the first is wr=%d; "+
						"each expected to be flushed", q.outstanding(), q.oldest().id)
				}
			},
		}
	},
}
