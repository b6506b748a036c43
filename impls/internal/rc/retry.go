package rc

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// rnrForever is the RNRRetry that means without limit (IBTA 9.7.5.2.8).
const rnrForever = 7

// Retry counts what may still fail before the QP does, and remembers a wait. Progress starts it anew.
type Retry struct {
	Until   vtime.Time // nothing is sent before, because the peer has no receive; zero when it has
	Left    uint8      // timeouts and sequence NAKs that may still come (RC-TMO-002)
	RNRLeft uint8      // RNR NAKs that may still come
}

// NewRetry returns the retries of a QP, none of them spent.
func NewRetry(qp *engine.QP) Retry { return Retry{Left: qp.RetryCount, RNRLeft: qp.RNRRetry} }

// Spend uses up one retry and reports whether there was one (IBTA 9.7.6.1.3).
func (r *Retry) Spend() bool {
	if r.Left == 0 {
		return false
	}
	r.Left--
	return true
}

// Wait begins the wait that an RNR NAK asks for, which lasts at least as long as the peer says (IBTA 9.7.5.2.8). It
// reports false when no RNR NAK may come any more.
func (r *Retry) Wait(now vtime.Time, t roce.RNRTimer, qp *engine.QP) bool {
	if qp.RNRRetry != rnrForever {
		if r.RNRLeft == 0 {
			return false
		}
		r.RNRLeft--
	}
	r.Until = now.Add(t.Duration())
	return true
}

// Expire ends the wait when its time has come.
func (r *Retry) Expire(now vtime.Time) {
	if r.Until <= now {
		r.Until = 0
	}
}
