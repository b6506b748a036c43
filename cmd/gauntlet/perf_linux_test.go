//go:build netns

package main

import (
	"math"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/perf/suite"
)

// A number of class E is measured in virtual time and with real packets, and the two agree.
func TestPerfWithRealPackets(t *testing.T) {
	needNetns(t)
	o := gauntlet(t, t.TempDir(), "perf", "--class", "E", "--target", "PT-DI-08", "--bench", "netns", "--seeds", "1",
		"--attempts", attempts, "--json", "--quiet")
	m := perfOf(t, o)
	if m.Emulated != "netns" || m.Runs != 1 || m.RealRuns != 1 || len(m.Claims) != 1 || len(m.Claims[0].Measured) != 1 {
		t.Fatalf("exit %d, %+v\n%s", o.code, m, o.stderr)
	}
	got := m.Claims[0].Measured[0]
	if o.code != 0 || got.Status != suite.Holds || got.Gap == nil || math.Abs(got.Gap.Value) > 0.1 {
		t.Errorf("exit %d, %+v, gap %+v\n%s", o.code, got, got.Gap, o.stderr)
	}
}
