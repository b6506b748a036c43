package gbn

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/rc"
)

// handleAcknowledge takes an ACK or NAK. Every kind acknowledges all PSNs before its own first; a NAK then says what is
// wrong with its PSN (IBTA 9.7.5.1, 9.7.5.2).
func (r *Requester) handleAcknowledge(now vtime.Time, p *roce.Packet) {
	switch s := p.AETH.Syndrome; {
	case s.IsACK():
		// An ACK names the newest packet it acknowledges, a NAK the oldest that it does not.
		if !r.advance(now, p.PSN.Next()) {
			r.goBack(now)
		}
	case s.IsRNR():
		r.handleRNR(now, p.PSN, roce.RNRTimer(s.Timer()))
	case s == roce.SyndromePSNSeqErr:
		// Whether or not a READ stops advance, una is what is missing first.
		r.advance(now, p.PSN)
		r.goBack(now)
	case s == roce.SyndromeInvalidReq:
		r.handleFatal(now, p.PSN, engine.StatusRemoteInvalid)
	case s == roce.SyndromeRemoteAccess:
		r.handleFatal(now, p.PSN, engine.StatusRemoteAccess)
	case s == roce.SyndromeRemoteOp:
		r.handleFatal(now, p.PSN, engine.StatusRemoteOp)
	default:
		r.reserved++ // neither a success nor a failure that RC defines (IBTA table 43)
	}
}

// advance acknowledges everything before upTo and completes the requests that end there. It stops at a READ or atomic
// whose data has not arrived and reports false: the acknowledgement of a later request is an implied NAK of the READ
// (IBTA 9.7.5). The caller then goes back to it.
func (r *Requester) advance(now vtime.Time, upTo psn.PSN) bool {
	before := r.win.una
	for r.win.una.Less(upTo) {
		w := r.sq.At(0)
		if w.fetches() {
			break
		}
		if upTo.LessEq(w.last) {
			r.win.una = upTo // inside this message
			break
		}
		r.win.una = w.last.Next()
		r.complete(engine.StatusSuccess)
	}
	if r.win.una != before {
		r.progress(now)
	}
	return !r.win.una.Less(upTo)
}

// progress follows every move of una. It reloads the retry counters (RC-TMO-002), ends what was being retried, and
// restarts the transport timer while a packet is out, or stops it (IBTA 9.7.6.1.3; RC-TMO-003). Responses without
// progress leave the timer alone, so that no flood of them can keep a dead request alive.
func (r *Requester) progress(now vtime.Time) {
	r.retry = retry{Retry: rc.NewRetry(&r.qp)}
	if r.win.nxt.Less(r.win.una) {
		// An acknowledgement of the first transmission overtook the retransmission; the rest of it is not needed.
		r.win.nxt = r.win.una
		r.sq.seek(r.win.una)
	}
	if r.win.nxt == r.win.una {
		r.timer.Stop()
	} else {
		r.timer.Restart(now)
	}
}

// handleFatal fails the request that owns p. When a READ before it still misses data, that is retried first; the peer,
// which is in the error state now, will not answer, and the READ then fails for itself, in order.
func (r *Requester) handleFatal(now vtime.Time, p psn.PSN, s engine.Status) {
	if !r.advance(now, p) {
		r.goBack(now)
		return
	}
	r.fail(now, s)
}
