package suite

import (
	"context"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/perf/stats"
	"github.com/rdma-gauntlet/gauntlet/perf/targets"
)

var rule = stats.Rule{Confidence: 0.95, Margin: 0.01}

// result returns a random and an exact number, with goodput scaled by a factor.
func result(t *testing.T, factor float64, seeds int) *Result {
	any := targets.Bound{Low: 0, High: 1e9}
	o := options([]targets.Target{{ID: "PT-XX-01", Source: "a", Claim: "a", Class: targets.Virtual,
		Checks: []targets.Check{
			{Name: "random", Metric: rate, Runs: []string{lossy}, Bound: any}, {Name: "exact", Metric: rate,
				Runs: []string{clean}, Bound: any},
			{Name: "model", Metric: targets.Metric{Name: "x"}, Model: 1, Bound: any}}}})
	inner := o.Run
	o.Seeds, o.Run = seeds, func(ctx context.Context, s *scenario.Spec) (targets.Run, error) {
		r, err := inner(ctx, s)
		r.GoodputBps *= factor
		return r, err
	}
	return measure(t, o)
}

func TestCompare(t *testing.T) {
	for _, tt := range []struct {
		name          string
		factor        float64
		seeds         int
		random, exact stats.Decision
	}{
		{"unchanged", 1, 6, stats.Same, stats.Same},
		{"within the margin", 1.005, 6, stats.Same, stats.Same},
		{"faster", 1.02, 6, stats.Improved, stats.Improved},
		{"slower", 0.95, 6, stats.Regressed, stats.Regressed},
		{"too few seeds", 0.95, 4, stats.Inconclusive, stats.Regressed},
	} {
		c, err := Compare(result(t, 1, tt.seeds), result(t, tt.factor, tt.seeds), rule)
		if err != nil || len(c.Numbers) != 2 {
			t.Fatalf("%s: %+v, %v", tt.name, c, err)
		}
		if r, e := c.Numbers[0], c.Numbers[1]; r.Decision != tt.random || e.Decision != tt.exact ||
			!r.Random || e.Random {
			t.Errorf("%s: %s and %s, want %s and %s", tt.name, r.Decision, e.Decision, tt.random, tt.exact)
		}
		if n := c.FalseAlarms(); n <= 0 || n > 0.051 {
			t.Errorf("%s: %v false alarms of one random number", tt.name, n)
		}
	}
}

// Numbers that were measured under other conditions are not compared, with the reason.
func TestCompareNeedsTheSameRuns(t *testing.T) {
	for want, spoil := range map[string]func(*Measured){
		"other conditions": func(m *Measured) { m.Scenarios = []string{clean + "\nseed 3"} },
		"others; pairs":    func(m *Measured) { m.Seeds, m.Values = m.Seeds[1:], m.Values[1:] },
		"not measured":     func(m *Measured) { m.Estimate, m.Trouble = nil, "out of memory" },
		"was 0":            func(m *Measured) { m.Values[0] = 0 },
	} {
		old := result(t, 1, 6)
		spoil(&old.Claims[0].Measured[0])
		c, err := Compare(old, result(t, 1, 6), rule)
		if err != nil || c.Numbers[0].Decision != stats.Inconclusive || !strings.Contains(c.Numbers[0].Reason, want) {
			t.Errorf("%+v, %v, want a reason with %q", c, err, want)
		}
	}
	other := result(t, 1, 6)
	other.Claims[0].ID = "PT-XX-02"
	if c, err := Compare(result(t, 1, 6), other, rule); err == nil {
		t.Errorf("nothing in common: %+v", c)
	}
}
