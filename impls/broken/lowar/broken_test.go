package lowar

import (
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/brokentest"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules"
	ruleslowar "github.com/rdma-gauntlet/gauntlet/conformance/rules/lowar"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/impls/gobackone"
	"github.com/rdma-gauntlet/gauntlet/impls/lowar"
)

func TestMutants(t *testing.T) { brokentest.Mutants(t, Family()) }

func TestComplete(t *testing.T) { brokentest.Complete(t, Family(), ruleslowar.Rules()) }

func TestScenarios(t *testing.T) { brokentest.Scenarios(t, "lowar-", right()) }

// TestRightEngineUnderStress: the rules agree with the correct decoder about the packets passed up, over either
// transport.
func TestRightEngineUnderStress(t *testing.T) {
	ordeal := brokentest.Usual()
	ordeal.Links = []string{"rate=10G delay=10us queue=1000", "rate=1G delay=1ms queue=40 jitter=100us",
		"rate=10G delay=100us queue=1000 reorder=5%"}
	ordeal.Hurts = []string{"loss random p=0.02\nparam r=8 c=2", "loss gemodel p=0.01 r=0.3\nparam r=64 c=8",
		"dup A count=*\ndup B count=*\nparam r=4",
		"corrupt A nth=10 count=5 field=any\ncorrupt B nth=10 count=5 field=any\nparam r=16 c=4",
		"loss random p=0.05\nparam r=8 c=4 units=6 rob=5", "loss random p=0.1\nparam r=6 c=4 t_rob=30us",
		"loss random p=0.02\nparam adaptive=true bdp=100"}
	// blocks of many packets
	ordeal.Works[2] = strings.Replace(ordeal.Works[2], "\n", "\nload write msg=70000 count=5\n", 1)
	// a block of many packets takes a while
	ordeal.Sparse = true
	for _, impl := range []engine.Implementation{right(), lowar.Over(gobackone.Implementation())} {
		brokentest.Stress(t, impl, rules.All(), ordeal)
		ordeal.Before += len(ordeal.Links) * len(ordeal.Hurts) * len(ordeal.Works)
	}
}
