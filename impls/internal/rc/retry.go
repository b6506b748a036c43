package rc

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// rnrForever is the RNRRetry value that means no limit (IBTA 9.7.5.2.8).
const rnrForever = 7

// Retry holds the retry counters of a QP and the end of an RNR wait. The owner replaces it by NewRetry when an
// acknowledgement makes progress.
type Retry struct {
	Until   vtime.Time // end of the RNR wait, before which no request is sent; zero outside a wait
	Left    uint8      // retries left for timeouts and sequence NAKs (RC-TMO-002); 0 <= Left <= RetryCount
	RNRLeft uint8      // retries left for RNR NAKs; 0 <= RNRLeft <= RNRRetry; unused if RNRRetry is 7
}

// NewRetry returns the full retry counters of a QP.
func NewRetry(qp *engine.QP) Retry { return Retry{Left: qp.RetryCount, RNRLeft: qp.RNRRetry} }

// Spend uses one retry and reports whether one was left (IBTA 9.7.6.1.3).
func (r *Retry) Spend() bool {
	if r.Left == 0 {
		return false
	}
	r.Left--
	return true
}

// Wait begins the wait that an RNR NAK with timer code t asks for (IBTA 9.7.5.2.8). It reports false if no RNR retry is
// left.
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

// Expire ends the RNR wait if now has reached its end.
func (r *Retry) Expire(now vtime.Time) {
	if r.Until <= now {
		r.Until = 0
	}
}
