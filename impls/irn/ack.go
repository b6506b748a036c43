package irn

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/rc"
)

// handleAnswer processes an ACK, a NACK or a NAK of requests.
func (r *Requester) handleAnswer(now vtime.Time, p *roce.Packet) {
	s := p.AETH.Syndrome
	if p.Opcode == r.wire.Nack {
		r.handleNack(now, p.PSN, p.SACK.PSN)
		return
	}
	// An ACK of a PSN that is not outstanding is a ghost, with one exception: while only READ data is awaited, an ACK
	// of the newest PSN may answer a retransmitted READ request, and shows that the peer is alive.
	if !r.out.holds(p.PSN) {
		if s.IsACK() && p.PSN.Next() == r.out.una && !r.out.busy() && r.sq.Reads > 0 {
			r.retry.Left = r.qp.RetryCount
			return
		}
		r.ignored++
		return
	}
	switch {
	case s.IsACK():
		if r.out.ack(p.PSN.Next()) {
			r.progress(now)
		}
	case s.IsRNR():
		r.handleRNR(now, p.PSN, roce.RNRTimer(s.Timer()))
	case s == roce.SyndromePSNSeqErr:
		r.handleNack(now, p.PSN, p.PSN) // a sequence NAK of an RC peer, which carries no SACK
	case s == roce.SyndromeInvalidReq:
		r.refused(now, p.PSN, engine.StatusRemoteInvalid)
	case s == roce.SyndromeRemoteAccess:
		r.refused(now, p.PSN, engine.StatusRemoteAccess)
	case s == roce.SyndromeRemoteOp:
		r.refused(now, p.PSN, engine.StatusRemoteOp)
	default:
		r.ignored++ // a reserved syndrome
	}
}

// handleNack processes a NACK: cum is missing and p arrived. A NACK overtaken by a later acknowledgement still shows
// that p arrived.
func (r *Requester) handleNack(now vtime.Time, cum, p psn.PSN) {
	if !r.out.holds(p) || p.Less(cum) {
		r.ignored++
		return
	}
	if r.out.nack(cum, p) {
		r.progress(now)
	}
}

// progress is called after every move of una. It reloads the retry counters and ends an RNR wait.
func (r *Requester) progress(now vtime.Time) {
	r.retry = retry{Retry: rc.NewRetry(&r.qp)}
	r.finish(now)
}

// finish completes the finished requests, and restarts the timer while an acknowledgement or READ data is awaited.
func (r *Requester) finish(now vtime.Time) {
	for r.sq.Begun > 0 && r.sq.At(0).Done(r.out.una, r.in.expected) {
		r.sq.Complete(engine.StatusSuccess, &r.events)
	}
	if s := r.sq.Refused(); s != engine.StatusSuccess {
		r.fail(now, s)
		return
	}
	switch {
	case r.retry.Until == 0 && r.out.busy():
		r.out.rto.restart(now)
	case r.retry.Until == 0 && r.sq.Reads > 0:
		r.out.rto.wait(now)
	default:
		r.out.rto.stop()
	}
}

// refused records that the peer refuses the request that owns p. The data of earlier READs may still arrive; the
// request fails when it is the oldest.
func (r *Requester) refused(now vtime.Time, p psn.PSN, s engine.Status) {
	r.out.ack(p)
	r.sq.Refuse(p, s)
	r.out.doRetransmit = false
	r.progress(now)
}
