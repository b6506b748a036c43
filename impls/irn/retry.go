package irn

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/rc"
)

// retry is the state of retries since una last moved. Every move of una resets it.
type retry struct {
	rc.Retry
	resendRead bool // the READ or atomic whose data is awaited next is to be requested again
}

// handleTimeout acts on an expiry of the timer: the oldest packet is retransmitted, and the search for holes continues
// from there. If all requests are acknowledged and the data of a READ is missing, the READ request is retransmitted:
// the peer retransmits data by its own timer, but only a request reveals a peer that has spent its retries or is gone.
func (r *Requester) handleTimeout(now vtime.Time) {
	if !r.retry.Spend() {
		r.fail(now, engine.StatusRetryExceeded)
		return
	}
	r.events.Push(engine.Event{Kind: engine.Timeout, PSN: r.out.una})
	if r.out.busy() {
		r.out.timeout()
	} else {
		r.retry.resendRead = r.awaitedRead() != nil
	}
}

// handleRNR waits at least as long as the RNR NAK of p asks for and then retransmits p and all later packets that no
// NACK has named. A copy of the NAK that arrives during the wait is ignored (IBTA 9.7.5.2.8).
func (r *Requester) handleRNR(now vtime.Time, p psn.PSN, t roce.RNRTimer) {
	if r.out.ack(p) {
		r.progress(now)
	}
	if p != r.out.una || now < r.retry.Until {
		return
	}
	if !r.retry.Wait(now, t, &r.qp) {
		r.fail(now, engine.StatusRNRRetryExceeded)
		return
	}
	r.out.rto.stop()
	r.out.restart()
}

// HandleTimer implements engine.Engine.
func (r *Requester) HandleTimer(now vtime.Time) {
	r.retry.Expire(now)
	if r.out.rto.expired(now, r.out.inFlight()) {
		r.handleTimeout(now)
	}
}

// PollTimer implements engine.Engine: the end of an RNR wait, or the RTO.
func (r *Requester) PollTimer() (vtime.Time, bool) {
	at := r.out.rto.deadline()
	if r.retry.Until != 0 {
		at = r.retry.Until
	}
	return at, at != vtime.Never
}
