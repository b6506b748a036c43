package srnic

import (
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/brokentest"
	rulessrn "github.com/rdma-gauntlet/gauntlet/conformance/rules/srn"
	"github.com/rdma-gauntlet/gauntlet/impls/srnic"
)

func TestMutants(t *testing.T) { brokentest.Mutants(t, Family()) }

func TestComplete(t *testing.T) { brokentest.Complete(t, Family(), rulessrn.Rules()) }

func TestScenarios(t *testing.T) { brokentest.Scenarios(t, "srn-", srnic.Implementation()) }

func TestRightEngineUnderStress(t *testing.T) {
	brokentest.Stress(t, srnic.Implementation(), rulessrn.Rules(), brokentest.Usual(
		"loss random p=0.05\nparam cap=16", "loss random p=0.05\nparam rto_low=15ms rto_high=40ms"))
}
