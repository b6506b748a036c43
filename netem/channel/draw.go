package channel

import (
	"math/bits"

	"github.com/rdma-gauntlet/gauntlet/harness/splitmix"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/spec"
)

// coin is a stream of random decisions with one probability.
type coin struct {
	splitmix.Stream
	odds uint64 // probability times 2^63: the threshold for 63-bit draws; 2^63 is certainty
}

// hit returns the decision for the n-th packet.
func (c coin) hit(n uint64) bool { return c.odds != 0 && c.At(n)>>1 < c.odds }

// draws holds the random streams of a channel, one per impairment. Each stream is indexed by the number of the packet,
// so that no impairment changes the draws of another.
type draws struct {
	lossSeed                    uint64
	delay                       splitmix.Stream
	spread                      uint64         // number of jitter values, 2·Jitter+1
	half                        vtime.Duration // Jitter: the largest deviation from the delay
	reorder, duplicate, corrupt coin
	bit, mark                   splitmix.Stream // choice of the corrupted bit; marking by the queue
}

// newDraws derives the streams from the seed. The number of each stream must never change, because a seed would then
// give other draws.
func newDraws(l spec.Link, seed uint64) draws {
	sub := splitmix.Stream(seed).Sub
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
		mark:      sub(6),
	}
}

// jitter returns the n-th packet's deviation from the delay, uniform in [-Jitter, +Jitter].
func (d *draws) jitter(n uint64) vtime.Duration {
	if d.half == 0 {
		return 0
	}
	hi, _ := bits.Mul64(d.delay.At(n), d.spread)
	return vtime.Duration(hi) - d.half
}
