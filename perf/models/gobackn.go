package models

import "math"

// GoBackN is the efficiency of go-back-N: every loss costs the b packets that are sent within a round trip. By the
// renewal-reward theorem it is the mean number of packets that a cycle from loss to loss delivers, (1-p)/p, over the
// mean number that it sends, (1-p)/p + b. Lost retransmissions cost more than that; the tolerance of a comparison must
// allow for it.
func GoBackN(p, b float64) float64 {
	if !ratio(p) || b < 0 {
		return math.NaN()
	}
	return (1 - p) / ((1 - p) + p*b)
}

// GoBackNPaper is the goodput formula of the Go-Back-ONE paper (Wang, IV-A), as a share of the line:
//
//	Σ (1-p)^(k-1) p (k-1) / ((k-1) + b)
//
// It averages the efficiencies of single cycles, and gives short and long cycles the same weight. But a long cycle
// lasts longer, and throughput is an average over time: E[X/(X+b)] is below E[X]/(E[X]+b) by Jensen's inequality,
// because X/(X+b) is concave. So the formula is too low, by up to a fifth of the line where p·b is about one half;
// GoBackN is the throughput.
func GoBackNPaper(p, b float64) float64 {
	if !ratio(p) || b < 0 {
		return math.NaN()
	}
	if p == 0 || b == 0 {
		return GoBackN(p, b)
	}
	const negligible = 1e-12 // share of the distribution that is left out
	sum, weight := 0.0, p
	for k := 0.0; weight > p*negligible; k++ {
		sum += weight * k / (k + b)
		weight *= 1 - p
	}
	return sum
}

// Rounds is the mean number of times that go-back-N goes back, a round trip each, until n packets have arrived: a
// packet is lost p/(1-p) times on average before it arrives.
func Rounds(n int, p float64) float64 {
	if !ratio(p) || n < 0 {
		return math.NaN()
	}
	return float64(n) * p / (1 - p)
}

// AnyLost is the probability that at least one of n packets is lost. Where it exceeds one in a hundred, the 99th
// percentile of the completion time of n-packet messages jumps by a round trip (LoWAR, Fig. 10b).
func AnyLost(n int, p float64) float64 { return 1 - math.Pow(1-p, float64(n)) }

// ExactlyOne is the probability that exactly one packet of a window is lost, given that at least one is, when the
// number of losses is Poisson with mean lambda (FaSR III-B, Fig. 3a: for n QPs on a link with the product b, lambda is
// b·p/n).
func ExactlyOne(lambda float64) float64 {
	if lambda <= 0 {
		return math.NaN()
	}
	return lambda * math.Exp(-lambda) / (1 - math.Exp(-lambda))
}
