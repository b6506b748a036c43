package channel

import (
	"math/bits"

	"github.com/rdma-gauntlet/gauntlet/harness/splitmix"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/spec"
)

// coin is a stream of decisions with one probability, kept as a threshold for 63-bit draws so that certainty fits.
type coin struct {
	splitmix.Stream
	odds uint64
}

// hit decides for the n-th packet.
func (c coin) hit(n uint64) bool { return c.odds != 0 && c.At(n)>>1 < c.odds }

// draws is the random side of a channel: one stream per impairment, read by the number of the packet, so that the
// impairments do not shift each other's draws.
type draws struct {
	lossSeed                    uint64
	delay                       splitmix.Stream
	spread                      uint64 // number of jitter values, 2·Jitter+1
	half                        vtime.Duration
	reorder, duplicate, corrupt coin
	bit, mark                   splitmix.Stream
}

// newDraws derives the streams from the seed. Their numbers are part of the meaning of a seed and never change.
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
