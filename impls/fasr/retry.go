package fasr

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/ring"
)

// handleTimeout acts on the RTO. When everything is acknowledged and the data of a READ is missing, the oldest such
// READ is asked for once more: "If an RD request times out, it will be resubmitted" (FaSR IV-B). The peer, which has
// it, answers with an ACK, and what of the data is lost its own RTO repairs.
func (r *Requester) handleTimeout(now vtime.Time) {
	if !r.retry.Spend() {
		r.fail(now, engine.StatusRetryExceeded)
		return
	}
	r.events.Push(engine.Event{Kind: engine.Timeout, PSN: r.out.unack})
	if r.out.busy() {
		r.out.again()
	} else if w := r.sq.Fetch(r.placed); w != nil {
		r.out.retx.insert(w.First)
	}
}

// handleRNR waits at least as long as the peer asked for and then sends everything from p on: what the peer had
// received behind it, it has thrown away. A copy of the NAK that arrives during the wait changes nothing (IBTA
// 9.7.5.2.8).
func (r *Requester) handleRNR(now vtime.Time, p psn.PSN, t roce.RNRTimer) {
	if r.advance(now, p); !r.out.busy() || p != r.out.unack || now < r.retry.Until {
		return
	}
	if !r.retry.Wait(now, t, &r.qp) {
		r.fail(now, engine.StatusRNRRetryExceeded)
		return
	}
	r.timer.Stop()
	r.out.restart()
}

// HandleTimer implements engine.Engine.
func (r *Requester) HandleTimer(now vtime.Time) {
	r.retry.Expire(now)
	if r.say.timer.Expire(now) {
		r.say.ackNow(&r.in, 0)
	}
	if r.timer.Expire(now) {
		r.handleTimeout(now)
	}
	for p, ok := r.stamps.due(now); ok; p, ok = r.stamps.due(now) {
		if r.out.missing(p) {
			r.out.retx.insert(p)
		}
	}
}

// PollTimer implements engine.Engine: the earliest of the end of an RNR wait, the RTO, the RTO of a READ request, and
// the delay of an ACK.
func (r *Requester) PollTimer() (vtime.Time, bool) {
	at := r.retry.Until
	if at == 0 {
		at = min(r.timer.Deadline(), r.stamps.first())
	}
	at = min(at, r.say.timer.Deadline())
	return at, at != vtime.Never
}

// stamps holds the READ requests that are not acknowledged: "the requester adds a timestamp to the request that has not
// been ACKed" (FaSR IV-D). There are as many as READs may be outstanding at most, in PSN order.
type stamps struct {
	ring.Ring[stamp]
	period vtime.Duration
}

type stamp struct {
	psn psn.PSN
	due vtime.Time
}

// stamp notes that a READ request went out, for the first time or again.
func (s *stamps) stamp(now vtime.Time, p psn.PSN) {
	if s.period == 0 {
		return
	}
	for i := range s.Len() {
		if e := s.At(i); e.psn == p {
			e.due = now.Add(s.period)
			return
		}
	}
	if s.Len() == 0 || s.At(s.Len()-1).psn.Less(p) {
		s.Push(stamp{p, now.Add(s.period)})
	}
}

// forget drops what is acknowledged.
func (s *stamps) forget(una psn.PSN) {
	for s.Len() > 0 && s.At(0).psn.Less(una) {
		s.Drop()
	}
}

// due returns a READ request that has timed out, once.
func (s *stamps) due(now vtime.Time) (psn.PSN, bool) {
	for i := range s.Len() {
		if e := s.At(i); e.due <= now {
			e.due = vtime.Never
			return e.psn, true
		}
	}
	return 0, false
}

// first returns the earliest time-out.
func (s *stamps) first() vtime.Time {
	first := vtime.Never
	for i := range s.Len() {
		first = min(first, s.At(i).due)
	}
	return first
}
