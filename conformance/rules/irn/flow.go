package irn

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

var capHolds = define(rule.Rule{
	ID: "IRN-FC-001", Level: rule.MustNot,
	Title: "No new packet is sent with as many in flight as the cap allows; those acknowledged selectively count",
	Source: rule.Source{Ref: bdp, Requirement: "A new packet is transmitted only if the number of packets in flight, " +
		"computed as the difference between the current packet's sequence number and last acknowledged sequence " +
		"number, is less than this BDP cap."},
	Needs: rule.TapRequester | rule.Attributes, Sees: rule.RequestOut, Stimulus: "a flow that fills the window",
	New: func(c *rule.Context) rule.Check {
		limit := capOf(c)
		return rule.Check{Sight: func(s *rule.Sight) {
			if s.Relation != rule.First {
				return
			}
			switch flight := s.Pkt.PSN.Sub(c.UNA); {
			case flight >= limit:
				c.Failf(rule.Requester, "%s is sent with %d packets in flight, the cap is %d", c.Rel(s.Pkt.PSN), flight, limit)
			case flight == limit-1:
				c.Met()
			}
		}}
	},
})

var newDataInRecovery = define(rule.Rule{
	ID: "IRN-REC-006", Level: rule.Must,
	Title: "With no hole left to send again, new packets go on during recovery as far as the cap allows",
	Source: rule.Source{Ref: recovery, Requirement: "When there are no more lost packets to be retransmitted, the " +
		"sender continues to transmit new packets (if allowed by BDP-FC)."},
	Needs: timedTap, Sees: ofSender, Stimulus: "a lost packet in a flow that does not fill the window",
	New: func(c *rule.Context) rule.Check {
		f := flow{c: c, requests: newRequests(c), idle: vtime.Never}
		return rule.Check{Sight: f.sight, Event: f.event, End: f.stalled}
	},
})

// flow checks that a sender in recovery does not idle while it has no hole to retransmit, room in its window, and work.
// It may be silent for as long as its host may. Work is counted in packets; a requester that posts READs or atomics is
// not judged, because they may wait for others.
type flow struct {
	*requests
	c     *rule.Context
	posts int        // packets posted
	other bool       // a READ or atomic was posted, or a finding was made: nothing is judged any more
	idle  vtime.Time // since when it could send and did not; Never while it could not
	index uint64     // of the record at idle
}

func (f *flow) event(e *trace.Event) {
	if e.Kind == trace.Post && f.c.Mine(e) {
		f.posts += f.c.Packets(e.Len)
		f.other = f.other || e.Body.Op == engine.OpRead || e.Body.Op == engine.OpCompareSwap ||
			e.Body.Op == engine.OpFetchAdd
	}
	f.Event(e)
}

func (f *flow) sight(s *rule.Sight) {
	f.stalled(s.At)
	inside := f.Recovering && !f.Quiet && s.Relation == rule.First && s.Point == trace.RequesterOut && !f.Holes()
	f.requests.sight(s)
	if inside {
		f.c.Met()
	}
	able := f.able()
	if !able || s.Point == trace.RequesterOut {
		f.idle = vtime.Never
	}
	if able && f.idle == vtime.Never {
		f.idle, f.index = s.At, s.Index
	}
}

// able reports whether a new packet can be sent in recovery.
func (f *flow) able() bool {
	work := f.posts - f.Next.Sub(f.c.Start)
	return f.Recovering && !f.Quiet && !f.other && work > 0 && f.Next.Sub(f.UNA) < f.Limit && !f.Holes()
}

func (f *flow) stalled(at vtime.Time) {
	if f.idle != vtime.Never && f.c.Late(rule.Requester, f.idle, rule.Drain, at) && !f.c.Failed {
		f.c.FailAt(f.idle, f.index, rule.Requester,
			"no hole is left and the cap allows more, but no new packet is sent in recovery")
		f.other = true // once
	}
	if f.other {
		f.idle = vtime.Never
	}
}
