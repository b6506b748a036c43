package tcplite

import "github.com/rdma-gauntlet/gauntlet/harness/tcp"

// Windows, in segments.
const (
	initialWindow = 10 // RFC 6928
	lossWindow    = 1  // after a timeout (RFC 5681, 3.1)
	dupThreshold  = 3  // duplicate ACKs that indicate a loss (RFC 5681, 3.2)
)

// newReno is congestion control: slow start and congestion avoidance (RFC 5681), fast recovery with partial
// acknowledgements, the impatient variant (RFC 6582, 3.2).
type newReno struct {
	mss      int
	cwnd     int     // bytes
	ssthresh int     // bytes
	acc      int     // bytes acknowledged in congestion avoidance since cwnd grew
	dups     int     // duplicate ACKs in a row
	recover  tcp.Seq // sent at the start of the latest recovery or timeout; recovery ends when it is acknowledged
	active   bool    // in fast recovery
	partials int     // partial acknowledgements of this recovery
}

func (r *newReno) init(mss int, iss tcp.Seq) {
	*r = newReno{mss: mss, cwnd: initialWindow * mss, ssthresh: MaxWindow, recover: iss}
}

// limit sets the MSS that the handshake agreed on, before data is sent.
func (r *newReno) limit(mss int) {
	r.mss, r.cwnd = mss, min(r.cwnd, initialWindow*mss)
}

// duplicate processes a duplicate ACK and reports whether una must be retransmitted now. No recovery begins while una
// is before recover: such duplicates may be caused by needless retransmissions (RFC 6582, 4).
func (r *newReno) duplicate(una, sent tcp.Seq) bool {
	r.dups++
	switch {
	case r.active:
		r.cwnd += r.mss
	case r.dups == dupThreshold && r.recover.AtMost(una):
		r.active, r.recover, r.partials = true, sent, 0
		r.ssthresh = max(sent.Sub(una)/2, 2*r.mss)
		r.cwnd = r.ssthresh + dupThreshold*r.mss
		return true
	}
	return false
}

// acked processes an acknowledgement of newly bytes, after which flight bytes are outstanding. The result partial means
// that the segment at una is lost too and must be retransmitted; restart means that the retransmission timer restarts,
// in recovery only at the first partial acknowledgement.
func (r *newReno) acked(ack tcp.Seq, newly, flight int) (partial, restart bool) {
	r.dups = 0
	switch {
	case !r.active:
		r.open(newly)
		return false, true
	case r.recover.AtMost(ack):
		r.active, r.acc = false, 0
		r.cwnd = min(r.ssthresh, max(flight, r.mss)+r.mss)
		return false, true
	}
	r.cwnd = max(r.mss, r.cwnd-newly)
	if newly >= r.mss {
		r.cwnd += r.mss
	}
	r.partials++
	return true, r.partials == 1
}

// open grows the window: in slow start by the acknowledged bytes, at most a segment, afterwards by a segment per
// window.
func (r *newReno) open(newly int) {
	if r.cwnd < r.ssthresh {
		r.cwnd = min(r.cwnd+min(newly, r.mss), MaxWindow)
		return
	}
	if r.acc += newly; r.acc >= r.cwnd {
		r.acc -= r.cwnd
		r.cwnd = min(r.cwnd+r.mss, MaxWindow)
	}
}

// timeout reduces the window to one segment. Only the first timeout of a segment halves the threshold (RFC 5681, 3.1).
func (r *newReno) timeout(sent tcp.Seq, flight int, first bool) {
	if first {
		r.ssthresh = max(flight/2, 2*r.mss)
	}
	r.cwnd, r.acc, r.dups = lossWindow*r.mss, 0, 0
	r.active, r.recover = false, sent
}
