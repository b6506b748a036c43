package gbn

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/rc"
)

// retry is the state of recovery since una last moved. Every move of una resets it.
type retry struct {
	rc.Retry
	rewound     bool       // the cursor was moved back to una; una is retransmitted once nxt has passed it
	nakRecovery bool       // the current retransmission of una answers a NAK or an implied NAK
	since       vtime.Time // start of that retransmission; from when una is sent, the end of its transmission
}

// Recovery has three causes, all of which end in rewind:
//
//	NAK, or an implied NAK   the peer misses una            goBack         costs one of RetryCount
//	transport timer          no answer arrived              handleTimeout  costs one of RetryCount
//	RNR NAK                  the peer has no receive        handleRNR      costs one of RNRRetry
//
// A sequence NAK is sent once per gap. If the retransmission of una is lost as well, no second NAK comes, and only the
// timer remains (GBN-RTX-006); that is the price of go-back-N on a lossy path.

// goBack retransmits from una after a NAK, explicit or implied, of una. One recovery of a PSN runs at a time
// (GBN-RTX-005): packets in flight after una may draw more NAKs, and stale responses of a READ show the same gap again;
// a restart for each of them would waste bandwidth and spend the retries. With nack_interval a NAK that arrives one
// interval after the retransmission was sent shows that the retransmission was lost as well. While the retransmission
// still waits for the link, no NAK can refer to it: a retry is spent only for packets that are sent (RC-TMO-002).
func (r *Requester) goBack(now vtime.Time) {
	repeat := r.cfg.nackInterval > 0 && now.Sub(r.retry.since) >= r.cfg.nackInterval
	if r.retry.nakRecovery && !repeat || r.retry.rewound && r.win.nxt.LessEq(r.win.una) {
		return
	}
	if !r.spend() {
		r.fail(now, engine.StatusRetryExceeded)
		return
	}
	r.retry.nakRecovery, r.retry.since = true, now
	r.rewind()
}

// handleTimeout retransmits from una because the transport timer expired. It clears the NAK state, because a NAK that
// answers this retransmission is new. The deadline is exact: one period after the last restart, where IBTA allows up to
// four (RC-TMO-001).
func (r *Requester) handleTimeout(now vtime.Time) {
	if !r.spend() {
		r.fail(now, engine.StatusRetryExceeded)
		return
	}
	r.events.Push(engine.Event{Kind: engine.Timeout, PSN: r.win.una})
	r.retry.nakRecovery = false
	r.rewind()
}

// handleRNR waits at least as long as the RNR NAK of p asks for and then retransmits p (IBTA 9.7.5.2.8). A copy of the
// NAK that arrives during the wait is ignored.
func (r *Requester) handleRNR(now vtime.Time, p psn.PSN, t roce.RNRTimer) {
	if !r.advance(now, p) {
		r.goBack(now)
		return
	}
	if now < r.retry.Until {
		return
	}
	if !r.retry.Wait(now, t, &r.qp) {
		r.fail(now, engine.StatusRNRRetryExceeded)
		return
	}
	r.rewind()
}

// spend uses one retry and reports whether one was left (IBTA 9.7.6.1.3). As in soft-RoCE, rxe_infinite7 makes
// RetryCount 7 unlimited.
func (r *Requester) spend() bool {
	return r.cfg.infinite7 && r.qp.RetryCount == 7 || r.retry.Spend()
}

// rewind moves the cursor to una: go-back-N. All packets of [una, max) are sent again, in order, whether they arrived
// or not (GBN-RTX-001), and without backto0 none before una (GBN-RTX-002). The first packet with AckReq starts the
// timer again, which may be long after now if the link is busy.
func (r *Requester) rewind() {
	r.timer.Stop()
	r.retry.rewound = true
	r.win.nxt = r.win.una
	r.sq.seek(r.win.una)
	if r.cfg.chunk > 0 && !r.sq.At(0).fetches() {
		r.roundDown()
	}
}

// roundDown moves the cursor further back to a multiple of the chunk, as the ns-3 model of HPCC (Li et al., SIGCOMM
// 2019) does with m_backto0, where a message is repeated from the start of a chunk of 4000 bytes. The peer has the
// packets before una and answers them as duplicates; una does not move (GBN-BT0-001).
func (r *Requester) roundDown() {
	off := r.sq.pkt * r.qp.MTU
	start := off / r.cfg.chunk * r.cfg.chunk / r.qp.MTU
	r.win.nxt = r.win.nxt.Add(start - r.sq.pkt)
	r.sq.pkt = start
}
