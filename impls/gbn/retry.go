package gbn

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/rc"
)

// retry is how far recovery has got since the last progress. Progress resets it.
type retry struct {
	rc.Retry
	back  bool       // the cursor was put back to this snd_una, which is on its way again once the cursor has passed it
	going bool       // snd_una was NAKed and is being retransmitted
	since vtime.Time // when that began, or snd_una has left again
}

// Recovery has three causes, all of which end in rewind:
//
//	NAK, or an implied one   the peer misses una            goBack         costs one of RetryCount
//	transport timer          nothing was heard              handleTimeout  costs one of RetryCount
//	RNR NAK                  the peer has no receive        handleRNR      costs one of RNRRetry
//
// A sequence NAK is sent once per gap. When the retransmission of una is lost as well, no second NAK comes, and only
// the timer is left (GBN-RTX-006); that is the price of go-back-N on a lossy path.

// goBack retransmits from una because the peer, explicitly or by implication, says that una is missing. One recovery of
// a PSN runs at a time (GBN-RTX-005): what was in flight behind it may draw more NAKs, and stale responses of a READ
// show the same gap again; restarting for each would multiply the waste and spend the retries. With nack_interval a NAK
// that comes an interval after the retransmission has left says that it was lost as well. While the retransmission
// waits for its turn on the line, no NAK can say anything of it: a retry is spent for packets that leave (RC-TMO-002).
func (r *Requester) goBack(now vtime.Time) {
	repeat := r.cfg.nackInterval > 0 && now.Sub(r.retry.since) >= r.cfg.nackInterval
	if r.retry.going && !repeat || r.retry.back && r.win.nxt.LessEq(r.win.una) {
		return
	}
	if !r.spend() {
		r.fail(now, engine.StatusRetryExceeded)
		return
	}
	r.retry.going, r.retry.since = true, now
	r.rewind()
}

// handleTimeout retransmits from una because nothing was heard for the transport timer. A NAK that answers this
// retransmission is news, hence going is cleared. The deadline is exact: one period after the last restart, where IBTA
// would allow up to four (RC-TMO-001).
func (r *Requester) handleTimeout(now vtime.Time) {
	if !r.spend() {
		r.fail(now, engine.StatusRetryExceeded)
		return
	}
	r.events.Push(engine.Event{Kind: engine.Timeout, PSN: r.win.una})
	r.retry.going = false
	r.rewind()
}

// handleRNR waits at least as long as the peer asked for and then retransmits p (IBTA 9.7.5.2.8). A copy of the NAK
// that arrives during the wait changes nothing.
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

// spend uses up one retry and reports whether there was one (IBTA 9.7.6.1.3). Soft-RoCE takes 7 for no limit.
func (r *Requester) spend() bool {
	return r.cfg.infinite7 && r.qp.RetryCount == 7 || r.retry.Spend()
}

// rewind puts the cursor on una: go-back-N. Everything from there to max goes out again, in order, whether it arrived
// or not (GBN-RTX-001), and nothing before una does (GBN-RTX-002). The timer starts again with the first packet that
// asks for an answer, which may be long after now when the link is busy.
func (r *Requester) rewind() {
	r.timer.Stop()
	r.retry.back = true
	r.win.nxt = r.win.una
	r.sq.seek(r.win.una)
	if r.cfg.chunk > 0 && !r.sq.At(0).fetches() {
		r.roundDown()
	}
}

// roundDown moves the cursor further back to a multiple of the chunk, as the ns-3 model of HPCC (Li et al., SIGCOMM
// 2019) does with m_backto0, so that a message is repeated from the start of a chunk of 4000 bytes. The peer has the
// packets before una and answers them as duplicates; una itself stays where it is (GBN-BT0-001).
func (r *Requester) roundDown() {
	off := r.sq.pkt * r.qp.MTU
	start := off / r.cfg.chunk * r.cfg.chunk / r.qp.MTU
	r.win.nxt = r.win.nxt.Add(start - r.sq.pkt)
	r.sq.pkt = start
}
