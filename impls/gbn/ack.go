package gbn

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/rc"
)

// handleAcknowledge processes an ACK or NAK. Both acknowledge all PSNs before their own; a NAK also gives the reason
// why the packet with its own PSN was not executed (IBTA 9.7.5.1, 9.7.5.2).
func (r *Requester) handleAcknowledge(now vtime.Time, p *roce.Packet) {
	switch s := p.AETH.Syndrome; {
	case s.IsACK():
		// An ACK carries the newest PSN that it acknowledges, a NAK the oldest PSN that is not acknowledged.
		if !r.advance(now, p.PSN.Next()) {
			r.goBack(now)
		}
	case s.IsRNR():
		r.handleRNR(now, p.PSN, roce.RNRTimer(s.Timer()))
	case s == roce.SyndromePSNSeqErr:
		// Even if advance stops at a READ, una is the first missing PSN.
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

// advance acknowledges all PSNs before upTo and completes the requests that end before upTo. It stops at a READ or
// atomic whose data has not arrived and reports false: the acknowledgement of a later request is an implied NAK of the
// READ (IBTA 9.7.5). The caller then goes back to that READ.
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

// progress is called after every move of una. It reloads the retry counters (RC-TMO-002), ends the current recovery,
// and restarts the transport timer while a packet is in flight, or else stops it (IBTA 9.7.6.1.3; RC-TMO-003).
// Responses that do not move una leave the timer alone, so that no flood of them keeps a dead request alive.
func (r *Requester) progress(now vtime.Time) {
	r.retry = retry{Retry: rc.NewRetry(&r.qp)}
	if r.win.nxt.Less(r.win.una) {
		// The first transmission was acknowledged during the retransmission; skip the packets before una.
		r.win.nxt = r.win.una
		r.sq.seek(r.win.una)
	}
	if r.win.nxt == r.win.una {
		r.timer.Stop()
	} else {
		r.timer.Restart(now)
	}
}

// handleFatal fails the request that owns p. If an earlier READ still misses data, that READ is retried first; the
// peer, now in the error state, does not answer, and the READ then fails in its turn.
func (r *Requester) handleFatal(now vtime.Time, p psn.PSN, s engine.Status) {
	if !r.advance(now, p) {
		r.goBack(now)
		return
	}
	r.fail(now, s)
}
