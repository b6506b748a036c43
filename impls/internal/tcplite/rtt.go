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

// estimator measures the round trip, one segment at a time, and keeps the retransmission timeout (RFC 6298).
type estimator struct {
	least        vtime.Duration
	srtt, rttvar vtime.Duration
	rto          vtime.Duration
	timing       bool
	until        tcp.Seq // the acknowledgement that ends the measurement
	since        vtime.Time
}

func (e *estimator) init(least vtime.Duration) {
	*e = estimator{least: least, rto: max(initialRTO, least)}
}

// sending begins a measurement unless one runs. What is sent again measures nothing, since its ACK may be for either
// copy (Karn's rule); it also spoils a measurement that it is part of.
func (e *estimator) sending(now vtime.Time, end tcp.Seq, again bool) {
	switch {
	case again && e.timing && end.AtMost(e.until):
		e.timing = false
	case !again && !e.timing:
		e.timing, e.until, e.since = true, end, now
	}
}

// acked ends the measurement that this acknowledgement completes.
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

// backoff doubles the timeout, and ends a measurement that the timeout has spoilt (RFC 6298, 5.5).
func (e *estimator) backoff() {
	e.rto = min(2*e.rto, maxRTO)
	e.timing = false
}
