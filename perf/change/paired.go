package change

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/perf/history"
	"github.com/rdma-gauntlet/gauntlet/perf/stats"
)

// pair is a number over seeds, of an earlier night and of tonight.
type pair struct {
	track       *history.Track
	before, now *history.Entry
}

// paired decides about all pairs of the night together. Identical pairs need no test. Of the others those count whose
// sign test is significant among all of them, with an interval of the corresponding level (Benjamini and Yekutieli
// 2005), and of these the ones whose interval is outside the margin.
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

// stands adds a significant pair, unless its change is within the margin.
func (c *comparing) stands(p pair, chance, level float64) {
	rule := stats.Rule{Confidence: 1 - level, Margin: c.rule.Margin, LowerIsBetter: p.track.Better == history.Down}
	x := between(p.track, p.before, p.now)
	x.P, x.Kind = chance, direction(p.track.Better, *x.Now.Value-*x.Before.Value)
	// An old value of 0 has no relative change, and is an error.
	if by, err := rule.Compare(p.before.Values, p.now.Values); err == nil {
		if by.Decision == stats.Same || by.Decision == stats.Inconclusive {
			return
		}
		x.Relative, x.Kind = &by.Estimate, direction(p.track.Better, by.Value)
	}
	c.add(x)
}
