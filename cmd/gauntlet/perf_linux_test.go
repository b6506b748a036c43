//go:build netns

package main

import (
	"math"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/perf/suite"
)

// A number of class E is measured in virtual time and with real packets, and the two agree. The same command with the
// folder of its results makes no run again.
func TestPerfWithRealPackets(t *testing.T) {
	needNetns(t)
	dir := t.TempDir()
	args := []string{"perf", "--class", "E", "--target", "PT-DI-08", "--bench", "netns", "--seeds", "1",
		"--attempts", attempts, "--json", "--quiet", "--units", "results"}
	o := gauntlet(t, dir, args...)
	m := perfOf(t, o)
	if m.Emulated != "netns" || m.Runs != 1 || m.RealRuns != 1 || len(m.Claims) != 1 || len(m.Claims[0].Measured) != 1 {
		t.Fatalf("exit %d, %+v\n%s", o.code, m, o.stderr)
	}
	got := m.Claims[0].Measured[0]
	if o.code != 0 || got.Status != suite.Holds || got.Gap == nil || math.Abs(got.Gap.Value) > 0.1 {
		t.Errorf("exit %d, %+v, gap %+v\n%s", o.code, got, got.Gap, o.stderr)
	}
	if got.Carried().Dilation < 1 || got.Carried().Rate <= 0 {
		t.Errorf("made as %+v", got.RealMade)
	}
	if again := gauntlet(t, dir, args...); again.code != o.code || again.stdout != o.stdout {
		t.Errorf("with its results, exit %d:\n%s\nwant\n%s", again.code, again.stdout, o.stdout)
	}
}
