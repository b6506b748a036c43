package tcplite

import (
	"github.com/rdma-gauntlet/gauntlet/harness/tcp"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Bounds of the retransmission timeout (RFC 6298, 2.1 and 2.5).
const (
	initialRTO = vtime.Second
	maxRTO     = 60 * vtime.Second
)

// estimator measures the round-trip time of one segment at a time and computes the retransmission timeout (RFC 6298).
type estimator struct {
	least        vtime.Duration // lower bound of rto
	srtt, rttvar vtime.Duration
	rto          vtime.Duration
	timing       bool       // a measurement runs
	until        tcp.Seq    // an ACK of this sequence number ends the measurement
	since        vtime.Time // start of the measurement
}

func (e *estimator) init(least vtime.Duration) {
	*e = estimator{least: least, rto: max(initialRTO, least)}
}

// sending begins a measurement unless one runs. A retransmission begins none, because its ACK may answer either copy
// (Karn's rule), and it cancels a running measurement that includes it.
func (e *estimator) sending(now vtime.Time, end tcp.Seq, again bool) {
	switch {
	case again && e.timing && end.AtMost(e.until):
		e.timing = false
	case !again && !e.timing:
		e.timing, e.until, e.since = true, end, now
	}
}

// acked ends the measurement if the ACK covers it, and updates the timeout.
func (e *estimator) acked(now vtime.Time, ack tcp.Seq) {
	if !e.timing || ack.Less(e.until) {
		return
	}
	e.timing = false
	r := now.Sub(e.since)
	if e.srtt == 0 {
		e.srtt, e.rttvar = r, r/2
	} else {
		e.rttvar += (max(e.srtt-r, r-e.srtt) - e.rttvar) / 4
		e.srtt += (r - e.srtt) / 8
	}
	e.rto = min(max(e.srtt+4*e.rttvar, e.least), maxRTO)
}

// backoff doubles the timeout and cancels a running measurement (RFC 6298, 5.5).
func (e *estimator) backoff() {
	e.rto = min(2*e.rto, maxRTO)
	e.timing = false
}
