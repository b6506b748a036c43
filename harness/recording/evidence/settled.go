package evidence

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// settled finds requests that are sent again long after all that they ask for has passed the tap: the answer was lost
// between the tap and the requester.
type settled struct {
	acked   psn.PSN    // PSN after those acknowledged; valid when any is true
	any     bool       // an answer has passed
	pending []stretch  // response PSNs of READs and atomics that have not passed, by request, oldest first
	lost    bool       // pending has no room: nothing is concluded
	now     settlement // the latest sample
	past    settlement // the sample before, more than deafAfter ago
	last    vtime.Time // time of the latest packet
	counted bool       // this retransmission was counted
}

// settlement is a sample of the PSN before which every request is answered.
type settlement struct {
	psn   psn.PSN
	at    vtime.Time
	valid bool
}

// deafAfter is the time after an answer from which on a host that sends again has not heard it: less than rules allow
// a host, since they take a later packet for a violation.
const deafAfter = 2 * vtime.Millisecond

// pendingLimit bounds the READs and atomics that are remembered.
const pendingLimit = 128

// before returns the PSN before which every request is answered.
func (x *settled) before() settlement {
	p := x.acked
	if len(x.pending) > 0 && x.pending[0].from.Less(p) {
		p = x.pending[0].from
	}
	return settlement{p, x.last, x.any && !x.lost}
}

// passes is called for every packet before it is processed.
func (x *settled) passes(at vtime.Time) {
	switch {
	case at.Sub(x.last) > deafAfter:
		x.past = x.before()
		x.now = x.past
		x.now.at = at
	case at.Sub(x.now.at) > deafAfter:
		x.past, x.now = x.now, x.before()
		x.now.at = at
	}
	x.last = at
}

// sent processes a request with the PSNs [p, end); first is false for a retransmission. It reports whether a
// retransmission begins that the requester has no reason for, unless the answer was lost behind the tap.
func (x *settled) sent(p, end psn.PSN, o roce.Opcode, first bool) bool {
	if first {
		x.counted = false
		if o.IsRead() || o.IsAtomic() {
			x.lost = x.lost || len(x.pending) == pendingLimit
			if !x.lost {
				x.pending = append(x.pending, stretch{p, end})
			}
		}
		return false
	}
	deaf := x.past.valid && end.LessEq(x.past.psn) && !x.counted
	x.counted = x.counted || deaf
	return deaf
}

// answered processes an intact answer that is no NAK. Data that come before those asked for earlier may be dropped.
func (x *settled) answered(p psn.PSN, o roce.Opcode) {
	if o == roce.Acknowledge || o.IsReadResponse() || o == roce.AtomicAck {
		if !x.any || x.acked.Less(p.Next()) {
			x.acked, x.any = p.Next(), true
		}
	}
	if o == roce.Acknowledge {
		return
	}
	if len(x.pending) == 0 || x.pending[0].from != p {
		return
	}
	if x.pending[0].from = p.Next(); x.pending[0].from == x.pending[0].to {
		x.pending = slices.Delete(x.pending, 0, 1)
	}
}
