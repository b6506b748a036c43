package change

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/perf/history"
	"github.com/rdma-gauntlet/gauntlet/perf/stats"
)

// pair is a number over seeds, before and tonight.
type pair struct {
	track       *history.Track
	before, now *history.Entry
}

// paired decides over all pairs of the night together. What is identical to the bit needs no test; of the others those
// stand whose sign test does among all of them, with an interval of the level at which they do (Benjamini and Yekutieli
// 2005), and of them those whose interval leaves the margin.
func (c *comparing) paired() {
	open := slices.DeleteFunc(c.pairs, func(p pair) bool {
		return slices.Equal(p.before.Values, p.now.Values) && slices.Equal(p.before.Seeds, p.now.Seeds)
	})
	open = slices.DeleteFunc(open, func(p pair) bool {
		if slices.Equal(p.before.Seeds, p.now.Seeds) && len(p.before.Values) == len(p.now.Values) {
			return false
		}
		c.segment(p.track.Name, "other seeds")
		return true
	})
	chances := make([]float64, len(open))
	for i, p := range open {
		chances[i] = stats.SignTest(p.before.Values, p.now.Values)
	}
	stand, level := stats.Discoveries(chances, c.rule.Discovery)
	for i, p := range open {
		if stand[i] {
			c.stands(p, chances[i], level)
		}
	}
}

// stands adds a pair that stands, unless what it changed does not matter.
func (c *comparing) stands(p pair, chance, level float64) {
	rule := stats.Rule{Confidence: 1 - level, Margin: c.rule.Margin, LowerIsBetter: p.track.Better == history.Down}
	x := between(p.track, p.before, p.now)
	x.P, x.Kind = chance, direction(p.track.Better, *x.Now.Value-*x.Before.Value)
	if by, err := rule.Compare(p.before.Values, p.now.Values); err == nil { // else it was 0, and has no relative change
		if by.Decision == stats.Same || by.Decision == stats.Inconclusive {
			return
		}
		x.Relative, x.Kind = &by.Estimate, direction(p.track.Better, by.Value)
	}
	c.add(x)
}
