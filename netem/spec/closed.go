package spec

import (
	"math"

	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Mean returns the stationary loss rate of the process: per packet, or per slot when Slot is not zero. It is 0 for
// Tape, whose rate only its file gives. With m the rate and π the stationary shares of the states:
//
//	random   m = p.
//	gemodel  balance π_G·p = π_B·r gives π_B = p/(p+r), so m = (1-h)·π_B + (1-k)·π_G. A chain that cannot move (p=r=0)
//	         stays in the good state.
//	state    only state 1 and 3 exchange burst traffic and 4 always returns to 1, so π_4 = π_1·p14,
//	         π_3 = π_1·p13/p31, π_2 = π_3·p32/p23; m = π_3 + π_4.
//	burst    a cycle is (1-p)/p good packets, the mean of the geometric law, then len bad ones;
//	         m = h·len / (len + (1-p)/p).
func (l Loss) Mean() unit.Ratio {
	switch l.Model {
	case Bernoulli:
		return l.P
	case Gilbert:
		bad := l.bad()
		return (1-l.H)*bad + (1-l.K)*(1-bad)
	case Markov4:
		_, _, burst, lone := l.shares()
		return burst + lone
	case Sojourn:
		return unit.Ratio(float64(l.H*l.P) * float64(l.Length) / l.cycle())
	}
	return 0
}

// MeanBurst returns the mean number of consecutive losses. A burst ends when a loss is followed by a packet that
// survives, so the mean is m / (m - m2), where m2 is the probability that two successive packets are both lost. It is
// infinite when losses never end, 0 when there are none, and 0 for Tape.
//
//	random   m2 = p², so 1/(1-p).
//	gemodel  m2 = Σ π_i·l_i·P_ij·l_j over both states, l their loss rates.
//	state    losses end from state 3 with p31+p32 and from state 4 always: (π_3+π_4) / (π_3·(p31+p32) + π_4).
//	burst    of the len pairs that begin in a bad period, len-1 stay in it, and the last meets a new period with
//	         probability p; both are lost with h²: len / (len - h·(len-1+p)).
func (l Loss) MeanBurst() float64 {
	m := float64(l.Mean())
	if m == 0 {
		return 0
	}
	switch l.Model {
	case Bernoulli:
		return 1 / (1 - m)
	case Gilbert:
		return m / (m - l.pair())
	case Markov4:
		_, _, burst, lone := l.shares()
		return m / float64(burst*(l.P31+l.P32)+lone)
	case Sojourn:
		n := float64(l.Length)
		return n / (n - float64(l.H)*(n-1+float64(l.P)))
	}
	return 0
}

// bad returns the stationary share of Gilbert's bad state.
func (l Loss) bad() unit.Ratio {
	if l.P == 0 {
		return 0 // the chain never leaves the good state, in which it starts
	}
	return l.P / (l.P + l.R)
}

// pair returns the probability that two successive packets of Gilbert are both lost.
func (l Loss) pair() float64 {
	bad := l.bad()
	inGood, inBad := 1-l.K, 1-l.H
	return float64((1-bad)*inGood*((1-l.P)*inGood+l.P*inBad) + bad*inBad*(l.R*inGood+(1-l.R)*inBad))
}

// shares returns the stationary shares of the states 1 to 4 of Markov4, for a chain that starts in state 1. A state
// that cannot be left has the share 1.
func (l Loss) shares() (s1, s2, s3, s4 unit.Ratio) {
	switch {
	case l.P13 == 0:
		s1, s4 = 1, l.P14
	case l.P32 > 0 && l.P23 == 0:
		s2 = 1
	case l.P31 == 0:
		s3 = 1
	default:
		s1, s3, s4 = 1, l.P13/l.P31, l.P14
	}
	if s3 > 0 && l.P32 > 0 {
		s2 = s3 * l.P32 / l.P23
	}
	sum := s1 + s2 + s3 + s4
	return s1 / sum, s2 / sum, s3 / sum, s4 / sum
}

// cycle returns the mean length of a good and a bad period of Sojourn, multiplied by P, which avoids a division by zero
// for P=0.
func (l Loss) cycle() float64 { return float64(l.P)*float64(l.Length) + 1 - float64(l.P) }

// BDPPackets returns the bandwidth-delay product in packets of wireBytes (layer 1, as in Rate), rounded up: the number
// of packets in flight when the line is full for one rtt. A queue much smaller drops the burst of a window-limited
// sender. The result is 0 on an unlimited line.
func (l Link) BDPPackets(rtt vtime.Duration, wireBytes int) int {
	if l.Rate == 0 || wireBytes < 1 || rtt < 0 {
		return 0
	}
	return int(math.Ceil(float64(l.Rate.Bytes(rtt)) / float64(wireBytes)))
}
