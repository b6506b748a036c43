//go:build netns

package suite_test

import (
	"context"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/scenarios"
	"github.com/rdma-gauntlet/gauntlet/conformance/suite"
	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/topology"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/all"
)

// TestConformanceNetns plays a few scenarios with real packets.
func TestConformanceNetns(t *testing.T) {
	if why := topology.Privileged(); why != nil {
		t.Skip("no real packets: ", why)
	}
	self := filepath.Join(t.TempDir(), "gauntlet") // whose processes the bench starts
	if out, err := exec.Command("go", "build", "-o", self, "../../cmd/gauntlet").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v: %s", err, out)
	}
	list := pick(t, "ops-every-length", "loss-middle", "read-response-lost", "rnr-retry", "error-opcode-order")
	out := outcomes(t, suite.Config{Implementations: []string{"gbn"}, Reference: []string{"gbn"},
		Bench: "netns", Scenarios: list,
		Run: untilValid(&netns.Bench{Self: self})}, suite.Options{}, true)
	if len(out) != len(list) {
		t.Errorf("%d outcomes of %d scenarios", len(out), len(list))
	}
}

// untilValid plays a scenario up to four times, slower each time, until the link matches the scenario.
func untilValid(b bench.Bench) player {
	return func(ctx context.Context, impl string, sc *scenarios.Scenario,
		s *scenario.Spec) (r *suite.Result, err error) {
		for least := vtime.Dilation(1); least <= 8; least *= 2 {
			if r, err = playAt(b, all.Find, least)(ctx, impl, sc, s); err != nil || r.Status != rule.Invalid {
				break
			}
		}
		return r, err
	}
}
