package models

import (
	"math"

	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// ClosedLoop is the payload rate in bit/s that depth outstanding messages of msg bytes sustain without loss, when every
// completion posts the next message: depth messages per round trip and serialisation of one, and never more than the
// line carries (NTT 2.2, and 4.1 solved for the rate).
func ClosedLoop(depth int, rtt vtime.Duration, rate unit.Rate, msg, mtu int) float64 {
	line := float64(rate) * Ceiling(msg, mtu)
	return min(line, float64(depth)*float64(msg)*8/(rtt+serialisation(rate, msg, mtu)).Seconds())
}

// Moderated is ClosedLoop for perftest, which asks for a completion every cqmod messages and posts as many when it
// arrives. With depth < 2·cqmod the queue runs dry before the next completion: a cycle is a round trip and the 2·cqmod
// - depth messages that are sent after the acknowledged ones. host is the time that the host takes from the completion
// to the doorbell.
//
// The defaults, depth 128 and moderation 100, explain all three points of NTT Fig. 3, for which the paper does not give
// the depth.
func Moderated(depth, cqmod int, rtt, host vtime.Duration, rate unit.Rate, msg, mtu int) float64 {
	if cqmod < 1 || cqmod > depth {
		return math.NaN()
	}
	dry := max(1, 2*cqmod-depth)
	cycle := rtt + host + vtime.Duration(dry)*serialisation(rate, msg, mtu)
	return min(float64(rate)*Ceiling(msg, mtu), float64(cqmod)*float64(msg)*8/cycle.Seconds())
}

// serialisation is the time of one WRITE on the line.
func serialisation(rate unit.Rate, msg, mtu int) vtime.Duration {
	return rate.Time(msg + (msg+mtu-1)/mtu*Overhead + RETH)
}

// WindowedGoBackN is the share of its loss-free rate that go-back-N keeps when w packets in flight limit it and not the
// line. They are sent as a burst once per round trip, because packets that are acknowledged together are followed by
// packets that are sent together, and of each burst only the packets before its first loss count: E[min(packets before
// a loss, w)] / w. If they were spread evenly over the round trip, every loss would cost all of them, and the share
// would be GoBackN(p, w).
func WindowedGoBackN(p float64, w int) float64 {
	switch {
	case !ratio(p) || w < 1:
		return math.NaN()
	case p == 0:
		return 1
	}
	anyLost := -math.Expm1(float64(w) * math.Log1p(-p)) // 1 - (1-p)^w, accurate also where that is tiny
	return (1 - p) * anyLost / (p * float64(w))
}

// Selective is the efficiency of selective retransmission with a window of w packets and a timeout of rto, both in
// packets of the line. A loss stops the sender until its repair is acknowledged, two products after the packet was
// sent, less the packets that the window allows meanwhile; a lost repair, or a lost tail, waits for the timer instead.
func Selective(p, b, w, rto float64) float64 {
	if !ratio(p) || b < 0 || w <= 0 || rto < 0 {
		return math.NaN()
	}
	perLoss := max(0, 2*b-w) + p*max(0, rto-w)
	return (1 - p) / (1 + p*perLoss)
}
