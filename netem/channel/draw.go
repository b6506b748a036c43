package channel

import (
	"math/bits"

	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/spec"
)

// stream is an endless row of random numbers of which any one is read directly: SplitMix64 (Steele, Lea, Flood,
// "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014), whose n-th output needs no earlier one. Reading by the
// number of the packet is what keeps the impairments from shifting each other's draws.
type stream uint64

// gamma is SplitMix64's increment: the odd integer closest to 2^64 divided by the golden ratio.
const gamma = 0x9E3779B97F4A7C15

// at returns the n-th number.
func (s stream) at(n uint64) uint64 {
	z := uint64(s) + (n+1)*gamma
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

// coin is a stream of decisions with one probability, kept as a threshold for 63-bit draws so that certainty fits.
type coin struct {
	stream
	odds uint64
}

// hit decides for the n-th packet.
func (c coin) hit(n uint64) bool { return c.odds != 0 && c.at(n)>>1 < c.odds }

// draws is the random side of a channel: one stream per impairment.
type draws struct {
	lossSeed                    uint64
	delay                       stream
	spread                      uint64 // number of jitter values, 2·Jitter+1
	half                        vtime.Duration
	reorder, duplicate, corrupt coin
	bit                         stream
}

// newDraws derives the streams from the seed. Their numbers are part of the meaning of a seed and never change.
func newDraws(l spec.Link, seed uint64) draws {
	sub := func(i uint64) stream { return stream(stream(seed).at(i)) }
	toss := func(i uint64, p unit.Ratio) coin { return coin{sub(i), uint64(float64(p) * (1 << 63))} }
	return draws{
		lossSeed:  uint64(sub(0)),
		delay:     sub(1),
		spread:    uint64(2*l.Jitter + 1),
		half:      l.Jitter,
		reorder:   toss(2, l.Reorder),
		duplicate: toss(3, l.Duplicate),
		corrupt:   toss(4, l.Corrupt),
		bit:       sub(5),
	}
}

// jitter returns the n-th packet's deviation from the delay, uniform in [-Jitter, +Jitter].
func (d *draws) jitter(n uint64) vtime.Duration {
	if d.half == 0 {
		return 0
	}
	hi, _ := bits.Mul64(d.delay.at(n), d.spread)
	return vtime.Duration(hi) - d.half
}
