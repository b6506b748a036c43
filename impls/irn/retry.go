package irn

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/rc"
)

// retry is how far recovery may go before the QP fails.
type retry struct {
	rc.Retry
	ask bool // the request of the oldest READ goes once more
}

// handleTimeout acts on the timer: the oldest packet goes again, and the search for holes follows from there. When all
// is acknowledged and the data of a READ is missing, its request goes again: it is the peer that repeats data, but a
// peer that has given up, or is gone, can only be found out by asking.
func (r *Requester) handleTimeout(now vtime.Time) {
	if !r.retry.Spend() {
		r.fail(now, engine.StatusRetryExceeded)
		return
	}
	r.events.Push(engine.Event{Kind: engine.Timeout, PSN: r.out.una})
	if r.out.busy() {
		r.out.timeout()
	} else {
		r.retry.ask = r.asked() != nil
	}
}

// handleRNR waits at least as long as the peer asked for and then sends p again, and what came behind it without being
// taken. A copy of the NAK that arrives during the wait changes nothing (IBTA 9.7.5.2.8).
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
