package fasr

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/ring"
)

// handleTimeout acts on an expiry of the RTO. If all requests are acknowledged and the data of a READ is missing, the
// request of the oldest such READ is retransmitted: "If an RD request times out, it will be resubmitted" (FaSR IV-B).
// The peer has that request and answers with an ACK; lost data is retransmitted by the peer's own RTO.
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

// handleRNR waits at least as long as the RNR NAK of p asks for and then retransmits all packets from p on, because a
// peer may have dropped the packets after p. A copy of the NAK that arrives during the wait is ignored (IBTA
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
	r.expireReads(now)
}

// expireReads disarms the deadlines that have passed, and retransmits the READ requests that are missing.
func (r *Requester) expireReads(now vtime.Time) {
	c := r.out.cursor()
	for i := range r.stamps.Len() {
		e := r.stamps.At(i)
		if e.due > now {
			continue
		}
		e.due = vtime.Never
		if r.out.missing(&c, e.psn) {
			r.out.retx.insert(e.psn)
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

// stamps holds the deadlines of the unacknowledged READ requests, in PSN order, at most MaxRdAtomic: "the requester
// adds a timestamp to the request that has not been ACKed" (FaSR IV-D).
type stamps struct {
	ring.Ring[stamp]
	period vtime.Duration // the RTO; 0 disables the deadlines
}

type stamp struct {
	psn psn.PSN    // PSN of the READ request
	due vtime.Time // deadline; vtime.Never after it has expired
}

// stamp sets the deadline of a READ request that is sent, for the first time or again.
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

// forget drops the READ requests before una, which are acknowledged.
func (s *stamps) forget(una psn.PSN) {
	for s.Len() > 0 && s.At(0).psn.Less(una) {
		s.Drop()
	}
}

// first returns the earliest deadline, or vtime.Never.
func (s *stamps) first() vtime.Time {
	first := vtime.Never
	for i := range s.Len() {
		first = min(first, s.At(i).due)
	}
	return first
}
