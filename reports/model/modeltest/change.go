package modeltest

import (
	"github.com/rdma-gauntlet/gauntlet/perf/stats"
	"github.com/rdma-gauntlet/gauntlet/perf/suite"
)

// Changes returns a new comparison with a number of each decision, the one that is the same first.
func Changes() *suite.Changes {
	change := func(id string, old, now, half float64, d stats.Decision) suite.Change {
		by := now/old - 1
		return suite.Change{ID: id, Title: "goodput", Unit: "Gb/s", Old: old, New: now, Random: true, Decision: d,
			Relative: &stats.Estimate{Value: by, Low: by - half, High: by + half, Confidence: 0.96875, N: 6}}
	}
	c := &suite.Changes{Format: suite.FormatVersion, Old: "0.1.0 0123456789ab", New: "0.2.0 ba9876543210",
		Confidence: 0.95, Margin: 0.01,
		Numbers: []suite.Change{
			change("PT-XX-01", 9.21, 9.212, 0.001, stats.Same),
			change("PT-XX-02", 6.38, 6.62, 0.02, stats.Improved),
			change("PT-XX-03", 1.64, 1.52, 0.02, stats.Regressed),
			change("PT-XX-04", 0.19, 0.195, 0.06, stats.Inconclusive),
			{ID: "PT-XX-05", Title: "goodput ratio", Old: 1.25, New: 1.3, Decision: stats.Inconclusive,
				Reason: "measured under other conditions"},
		}}
	return c
}
