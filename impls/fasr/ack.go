package fasr

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/rc"
)

// handleAnswer takes an ACK, a NAK, a SACK or an FNACK of requests.
func (r *Requester) handleAnswer(now vtime.Time, p *roce.Packet) {
	s := p.AETH.Syndrome
	// An ACK is about a PSN that is sent and not acknowledged, or a ghost: but the peer's ACK of the newest one may
	// answer a READ request that was asked for once more, and shows that the peer is alive.
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

// take lets the sender act on an answer, and completes what it acknowledges. When something is to be sent again it is
// that whose answer is awaited: the timer stands until it has left, which may be long after now when the line is busy.
func (r *Requester) take(now vtime.Time, x *answer) {
	news, again := r.out.take(x)
	if news {
		r.progress(now)
	}
	if again {
		r.timer.Stop()
	}
}

// advance acknowledges everything before upTo.
func (r *Requester) advance(now vtime.Time, upTo psn.PSN) {
	if r.out.ack(upTo) {
		r.progress(now)
	}
}

// progress follows every move of UNACK: the retry counters are loaded again, and a wait for a receive is over. READ
// responses in order do the same when nothing but their data is awaited; a request that is stuck is not helped by them.
func (r *Requester) progress(now vtime.Time) {
	r.retry = rc.NewRetry(&r.qp)
	r.stamps.forget(r.out.unack)
	r.finish(now)
}

// finish completes what is done, and starts the timer again while something is awaited.
func (r *Requester) finish(now vtime.Time) {
	for r.sq.Begun > 0 && r.sq.At(0).Done(r.out.unack, r.placed) {
		// a READ that was to be asked for again, and whose data have come first
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

// refused notes that the peer refuses the request that owns p. READs before it may still bring their data; the request
// fails when its turn comes.
func (r *Requester) refused(now vtime.Time, p psn.PSN, s engine.Status) {
	r.out.ack(p)
	r.sq.Refuse(p, s)
	r.out.retx.Clear()
	r.progress(now)
}
