package qualify

import (
	"math"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/conform"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/registry"
	"github.com/rdma-gauntlet/gauntlet/conformance/profiles"
)

// The machine may keep an end waiting for less than what the closest comparison of a profile leaves: else a busy
// machine could fail an implementation that is as good as the reference.
func TestIdleIsBelowEveryComparison(t *testing.T) {
	compared := 0
	for _, p := range profiles.All() {
		m := &measurement{profile: &p, peer: "gbn", session: &conform.Session{Known: registry.Catalogue{},
			Options: conform.Options{Impl: "exec:mine", Bench: "netns"}}}
		claimed, err := m.claims()
		must(t, err)
		closest := math.Inf(1)
		for _, target := range claimed {
			for _, c := range target.Checks {
				if len(c.Runs) > 1 {
					closest = min(closest, 1-c.Bound.Low)
				}
			}
		}
		if math.IsInf(closest, 1) {
			continue
		}
		if compared++; m.idle <= 0 || m.idle >= closest {
			t.Errorf("%s: a line may be idle for %g, and a comparison leaves %g", p.Name, m.idle, closest)
		}
	}
	if compared == 0 {
		t.Error("no profile compares")
	}
}
