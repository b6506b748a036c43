package irn

import (
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/brokentest"
	rulesirn "github.com/rdma-gauntlet/gauntlet/conformance/rules/irn"
	"github.com/rdma-gauntlet/gauntlet/impls/irn"
)

func TestMutants(t *testing.T) { brokentest.Mutants(t, Family()) }

func TestComplete(t *testing.T) { brokentest.Complete(t, Family(), rulesirn.Rules()) }

func TestScenarios(t *testing.T) { brokentest.Scenarios(t, "irn-", irn.Implementation()) }

func TestRightEngineUnderStress(t *testing.T) {
	brokentest.Stress(t, irn.Implementation(), rulesirn.Rules(), brokentest.Usual(
		"loss random p=0.05\nparam cap=16", "loss random p=0.05\nparam rto_low=15ms rto_high=40ms"))
}
