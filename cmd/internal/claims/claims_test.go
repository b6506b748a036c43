package claims

import (
	"context"
	"fmt"
	"reflect"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/perf/stats"
	"github.com/rdma-gauntlet/gauntlet/perf/suite"
	"github.com/rdma-gauntlet/gauntlet/perf/targets"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Every account that a target names exists.
func TestAccounts(t *testing.T) {
	kept := Accounts()
	for _, target := range targets.All() {
		for _, c := range target.Checks {
			if _, ok := kept[c.Account]; c.Account != "" && !ok {
				t.Errorf("%s: no account %q", target.ID, c.Account)
			}
		}
	}
}

// Every account that a figure names exists.
func TestFigureAccounts(t *testing.T) {
	kept := MemoryByQPs()
	for _, f := range targets.Figures() {
		for _, p := range f.Panels {
			for _, c := range p.Curves {
				if _, ok := kept[c.Account]; c.Account != "" && !ok {
					t.Errorf("%s: no account %q", f.ID, c.Account)
				}
			}
		}
	}
}

// A run depends on its Spec alone, so that the runs of two commits meet the same losses.
func TestMeasureRepeats(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: measures a claim twice")
	}
	o := suite.Options{Targets: targets.All(), Seeds: 1, Cost: Cost}
	o.Targets, _ = targets.Find(o.Targets, []string{"PT-FS-02"})
	specs, err := o.Specs()
	must(t, err)
	first, err := Measure(t.Context(), specs[0])
	must(t, err)
	again, err := Measure(t.Context(), specs[0])
	if err != nil || !reflect.DeepEqual(first.Summary, again.Summary) || first.Lost == 0 {
		t.Errorf("%+v\n%+v\n%v", first.Summary, again.Summary, err)
	}
}

// trial measures FaSR over a lossy link with the given window in place of 500. The loss rate, and so the losses, differ
// from trial to trial.
func trial(t *testing.T, n int, window string) *suite.Result {
	t.Helper()
	text := fmt.Sprintf("impl fasr\nparam window=500\nlink rate=100G delay=3us queue=400000\nloss A>B random "+
		"p=%g\nqp qd=64 rto=18us\nload write msg=8KiB\nrun for=1ms",
		0.01+float64(n)/10_000)
	share := targets.Metric{Name: "goodput", Unit: "b/s", Runs: 1, Of: func(r []targets.Run) float64 {
		return r[0].GoodputBps
	}}
	m, err := suite.Measure(t.Context(), suite.Options{Seeds: 6, Jobs: 2, Confidence: 0.95, Cost: Cost,
		Targets: []targets.Target{{ID: "PT-XX-01", Source: "a test", Claim: "none", Class: targets.Virtual,
			Checks: []targets.Check{{Metric: share, Runs: []string{text}, Bound: targets.Bound{Low: 0, High: 1e12}}}}},
		Run: func(ctx context.Context, s *scenario.Spec) (targets.Run, error) {
			s.Params = engine.Params{"window": window}
			return Measure(ctx, s)
		}})
	must(t, err)
	return m
}

// The comparison finds an engine with a smaller window, which is some per cent slower, in all trials, and the same
// engine in none.
func TestCompareFindsASlowerEngine(t *testing.T) {
	trials := 20
	if testing.Short() {
		trials = 3
	}
	for n := range trials {
		before := trial(t, n, "500")
		for window, want := range map[string]stats.Decision{"500": stats.Same, "110": stats.Regressed} {
			c, err := suite.Compare(before, trial(t, n, window), stats.Rule{Confidence: 0.95, Margin: 0.01})
			must(t, err)
			if got := c.Numbers[0]; got.Decision != want {
				t.Errorf("trial %d, window %s: %s, %+v, want %s", n, window, got.Decision, got.Relative, want)
			} else if n == 0 {
				t.Logf("window %s: %+v", window, got.Relative)
			}
		}
	}
}
