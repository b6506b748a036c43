package metrics

import (
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// deliver counts n bytes from a side as delivered, for the run and for this half.
func (h *half) deliver(at vtime.Time, from trace.Side, n int64) {
	if n > 0 {
		h.got, h.last = h.got+n, max(h.last, at)
	}
	h.c.credit(at, from, n)
}

// fairness is Jain's index over the halves that sent anything: the square of the sum of their goodputs by their number
// times the sum of the squares (Jain, Chiu and Hawe 1984). It is 1 when all are equal and 1/n when one has everything;
// 0 when there are fewer than two. A half's goodput is its payload over the time to its last byte, or to the end of a
// timed run, so that halves with the same work differ by the time at which they completed it.
func (c *Collector) fairness() float64 {
	n, sum, squares := 0, 0.0, 0.0
	for _, pair := range c.halves {
		for _, h := range pair {
			if h == nil {
				continue
			}
			n++
			last := h.last
			if c.opts.Timed {
				last = max(last, c.end)
			}
			if t := last.Sub(c.first).Seconds(); h.got > 0 && t > 0 {
				x := float64(h.got) / t
				sum, squares = sum+x, squares+x*x
			}
		}
	}
	if n < 2 || squares == 0 {
		return 0
	}
	return sum * sum / (float64(n) * squares)
}
