package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/perf/stats"
	"github.com/rdma-gauntlet/gauntlet/perf/suite"
	"github.com/rdma-gauntlet/gauntlet/perf/targets"
)

// trial measures FaSR over a lossy link, with the given window where the scenario says 500. Each trial loses other packets.
func trial(t *testing.T, n int, window string) *suite.Result {
	t.Helper()
	text := fmt.Sprintf("impl fasr\nparam window=500\nlink rate=100G delay=3us queue=400000\nloss A>B random p=%g\nqp qd=64 rto=18us\nload write msg=8KiB\nrun for=1ms",
		0.01+float64(n)/10_000)
	share := targets.Metric{Name: "goodput", Unit: "b/s", Runs: 1, Of: func(r []targets.Run) float64 { return r[0].GoodputBps }}
	m, err := suite.Measure(t.Context(), suite.Options{Seeds: 6, Jobs: 2, Confidence: 0.95, Cost: cost,
		Targets: []targets.Target{{ID: "PT-XX-01", Source: "a test", Claim: "none", Class: targets.Virtual,
			Checks: []targets.Check{{Metric: share, Runs: []string{text}, Bound: targets.Bound{Low: 0, High: 1e12}}}}},
		Run: func(ctx context.Context, s *scenario.Spec) (targets.Run, error) {
			s.Params = engine.Params{"window": window}
			return measure(ctx, s)
		}})
	must(t, err)
	return m
}

// An engine with a smaller window, which is some per cent slower, is found 20 times out of 20; the same engine never is.
func TestCompareFindsASlowerEngine(t *testing.T) {
	for n := range 20 {
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

func TestPerfCompareCommand(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	o := gauntlet(t, dir, "perf", "--target", "PT-NT-02", "--json")
	file("old.json", o.stdout)
	file("new.json", strings.ReplaceAll(o.stdout, "3.2074", "2.9074")) // the only number
	file("list.json", "[]")
	file("none.json", `{"format": 1}`)
	file("future.json", `{"format": 99}`)
	for _, tt := range []struct {
		old, new string
		code     int
		want     string
	}{
		{"old.json", "old.json", 0, "1 same"},
		{"old.json", "new.json", exitFailure, "PT-NT-02  regressed"},
		{"new.json", "old.json", 0, "PT-NT-02  improved"},
		{"old.json", "missing.json", exitUsage, "no such file"},
		{"old.json", "list.json", exitUsage, "want what perf --json wrote"},
		{"old.json", "none.json", exitUsage, "no claims"},
		{"future.json", "old.json", exitUsage, "format 99"},
		{".", "old.json", exitUsage, "want a file"},
	} {
		if o := gauntlet(t, dir, "perf", "compare", tt.old, tt.new); o.code != tt.code || !strings.Contains(o.stdout+o.stderr, tt.want) {
			t.Errorf("%s %s: exit %d, %s%s; want %d and %q", tt.old, tt.new, o.code, o.stdout, o.stderr, tt.code, tt.want)
		}
	}
	if o := gauntlet(t, dir, "perf", "compare", "old.json", "old.json", "--margin", "NaN"); o.code != exitUsage {
		t.Errorf("a margin of NaN: exit %d", o.code)
	}
}
