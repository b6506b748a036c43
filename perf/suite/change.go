package suite

import "github.com/rdma-gauntlet/gauntlet/perf/stats"

// Changes compares the numbers of one Result with those of an earlier one.
type Changes struct {
	Format     int      `json:"format"`
	Old        string   `json:"old"` // the older program: version and commit
	New        string   `json:"new"`
	Confidence float64  `json:"confidence"` // of each interval
	Margin     float64  `json:"margin"`     // relative change that is still the same
	Numbers    []Change `json:"numbers"`
}

// Change is a number that both results have.
type Change struct {
	ID       string          `json:"id"`
	Title    string          `json:"title"`
	Unit     string          `json:"unit,omitempty"`
	Old      float64         `json:"old"` // mean over the seeds
	New      float64         `json:"new"`
	Random   bool            `json:"random"`           // chance has a part, so that an alarm may be false
	Relative *stats.Estimate `json:"change,omitempty"` // of new/old - 1, seed by seed
	Decision stats.Decision  `json:"decision"`
	Reason   string          `json:"reason,omitempty"` // reason why it is inconclusive
}

// Count returns the number of numbers with a decision.
func (c *Changes) Count(d stats.Decision) (n int) {
	for i := range c.Numbers {
		if c.Numbers[i].Decision == d {
			n++
		}
	}
	return n
}

// FalseAlarms returns how many numbers of an unchanged program would be expected to show as improved or regressed, at
// most, if its runs differed by chance only.
func (c *Changes) FalseAlarms() (expected float64) {
	for i := range c.Numbers {
		if r := c.Numbers[i].Relative; r != nil && c.Numbers[i].Random {
			expected += 1 - max(r.Confidence, c.Confidence)
		}
	}
	return expected
}
