package fasr

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/rc"
)

// handleAnswer processes an ACK, a NAK, a SACK or an FNACK of requests.
func (r *Requester) handleAnswer(now vtime.Time, p *roce.Packet) {
	s := p.AETH.Syndrome
	// An ACK of a PSN that is not outstanding is a ghost, with one exception: while only READ data is awaited, an ACK
	// of the newest PSN may answer a retransmitted READ request, and shows that the peer is alive.
	if !r.out.holds(p.PSN) {
		if p.Opcode == roce.Acknowledge && s.IsACK() && p.PSN.Next() == r.out.unack && !r.out.busy() && r.sq.Reads > 0 {
			r.retry.Left = r.qp.RetryCount
			return
		}
		r.ignored++
		return
	}
	switch {
	case p.Opcode != roce.Acknowledge, s.IsACK(), s == roce.SyndromePSNSeqErr:
		r.take(now, &answer{op: p.Opcode, syndrome: s, psn: p.PSN, sack: p.SACK.PSN, lost: p.SACK.LostCnt})
	case s.IsRNR():
		r.handleRNR(now, p.PSN, roce.RNRTimer(s.Timer()))
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

// take passes an answer to the sender, and completes the requests that the answer acknowledges. If packets are to be
// retransmitted, the timer is stopped until the first of them is sent, which may be long after now if the link is busy.
func (r *Requester) take(now vtime.Time, x *answer) {
	news, again := r.out.take(x)
	if news {
		r.progress(now)
	}
	if again {
		r.timer.Stop()
	}
}

// advance acknowledges all PSNs before upTo.
func (r *Requester) advance(now vtime.Time, upTo psn.PSN) {
	if r.out.ack(upTo) {
		r.progress(now)
	}
}

// progress is called after every move of UNACK. It reloads the retry counters and ends an RNR wait. READ data in order
// also counts as progress if no request is unacknowledged, so that it does not reload the retries of a request that is
// stuck.
func (r *Requester) progress(now vtime.Time) {
	r.retry = rc.NewRetry(&r.qp)
	r.stamps.forget(r.out.unack)
	r.finish(now)
}

// finish completes the finished requests, and restarts the timer while an acknowledgement or READ data is awaited.
func (r *Requester) finish(now vtime.Time) {
	for r.sq.Begun > 0 && r.sq.At(0).Done(r.out.unack, r.placed) {
		// The request may be a READ queued for retransmission whose data has arrived meanwhile.
		r.out.retx.forget(r.sq.At(0).Last.Next())
		r.sq.Complete(engine.StatusSuccess, &r.events)
	}
	if s := r.sq.Refused(); s != engine.StatusSuccess {
		r.fail(now, s)
		return
	}
	if r.retry.Until == 0 && (r.out.busy() || r.sq.Reads > 0) {
		r.timer.Restart(now)
	} else {
		r.timer.Stop()
	}
}

// refused records that the peer refuses the request that owns p. The data of earlier READs may still arrive; the
// request fails when it is the oldest.
func (r *Requester) refused(now vtime.Time, p psn.PSN, s engine.Status) {
	r.out.ack(p)
	r.sq.Refuse(p, s)
	r.out.retx.Clear()
	r.progress(now)
}
