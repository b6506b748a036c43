package suite_test

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/onsi/ginkgo/v2"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/scenarios"
	"github.com/rdma-gauntlet/gauntlet/conformance/suite"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/topology"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/impls/all"
)

// registerSmoke adds a few scenarios with real packets, labelled netns. Without privilege they are skipped, and say why.
func registerSmoke(t *testing.T) {
	dir := t.TempDir()
	program := sync.OnceValues(func() (string, error) {
		self := filepath.Join(dir, "gauntlet")
		out, err := exec.Command("go", "build", "-o", self, "../../cmd/gauntlet").CombinedOutput()
		if err != nil {
			return "", fmt.Errorf("build the program whose processes the bench starts: %w: %s", err, out)
		}
		return self, nil
	})
	register(t, suite.Config{Implementations: []string{"gbn"}, Reference: []string{"gbn"}, Bench: "netns",
		Scenarios: pick(t, "ops-every-length", "loss-middle", "read-response-lost", "rnr-retry", "error-opcode-order"),
		Run: func(ctx context.Context, impl string, sc *scenarios.Scenario, s *scenario.Spec) (*suite.Result, error) {
			if why := topology.Privileged(); why != nil {
				ginkgo.Skip("no real packets: " + why.Error())
			}
			self, err := program()
			if err != nil {
				return nil, err
			}
			return untilValid(play(&netns.Bench{Self: self}, all.Find))(ctx, impl, sc, s)
		}})
}

// untilValid plays a scenario up to three times until the link is what the scenario says. On a busy machine it may never
// be; then the runs say nothing about the implementation, and the spec is skipped with the reason.
func untilValid(p player) player {
	return func(ctx context.Context, impl string, sc *scenarios.Scenario, s *scenario.Spec) (r *suite.Result, err error) {
		for range 3 {
			if r, err = p(ctx, impl, sc, s); err != nil || r.Status != rule.Invalid {
				return r, err
			}
		}
		ginkgo.Skip("no valid link on this machine in three runs: " + r.Reason)
		return r, nil
	}
}
