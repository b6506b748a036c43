package models

import (
	"math"

	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Stall is the share of the throughput that an SRNIC-like receiver loses because its bitmaps are in host memory: every
// packet takes t on the line, and with probability p its repair queries a bitmap queries times, for tq each, while the
// pipeline stands still (FaSR II-A, Fig. 2). One query gives the "as high as 40%" of 400 Gb/s, two the 25 % of the 100
// Gb/s testbed.
func Stall(p float64, queries int, t, tq vtime.Duration) float64 {
	if !ratio(p) || queries < 0 || t <= 0 || tq < 0 {
		return math.NaN()
	}
	stall := p * float64(queries) * float64(tq)
	return stall / (float64(t) + stall)
}
