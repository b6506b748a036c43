package metrics

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// binLimit is the maximum number of intervals of a timeline, an even number.
const binLimit = 400

// bins counts bytes per interval. Intervals begin at 1 us, and double when the run outgrows them, so that memory is
// fixed and no length has to be known beforehand.
type bins struct {
	start vtime.Time
	step  vtime.Duration
	limit vtime.Duration // step times binLimit
	bytes [binLimit]int64
}

func newBins() bins {
	return bins{step: vtime.Microsecond, limit: binLimit * vtime.Microsecond}
}

// add counts n bytes at a time that is not before start.
func (b *bins) add(at vtime.Time, n int64) {
	d := max(0, at.Sub(b.start))
	for d >= b.limit {
		b.double()
	}
	b.bytes[d/b.step] += n
}

// double merges pairs of intervals.
func (b *bins) double() {
	for i := range binLimit / 2 {
		b.bytes[i] = b.bytes[2*i] + b.bytes[2*i+1]
	}
	clear(b.bytes[binLimit/2:])
	b.step *= 2
	b.limit *= 2
}

// timeline returns the intervals that cover elapsed, the last byte included.
func (b *bins) timeline(elapsed vtime.Duration) Timeline {
	if elapsed <= 0 {
		return Timeline{Start: b.start}
	}
	c := *b
	for elapsed > c.limit {
		c.double()
	}
	n := min(binLimit, int((elapsed+c.step-1)/c.step))
	if n < binLimit && c.bytes[n] > 0 {
		n++ // bytes delivered at the very end lie on the border
	}
	return Timeline{Start: c.start, Step: c.step, Bytes: slices.Clone(c.bytes[:n])}
}
