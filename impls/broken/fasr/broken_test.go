package fasr

import (
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/brokentest"
	rulesfasr "github.com/rdma-gauntlet/gauntlet/conformance/rules/fasr"
	"github.com/rdma-gauntlet/gauntlet/impls/fasr"
)

func TestMutants(t *testing.T) { brokentest.Mutants(t, Family()) }

func TestComplete(t *testing.T) { brokentest.Complete(t, Family(), rulesfasr.Rules()) }

func TestScenarios(t *testing.T) { brokentest.Scenarios(t, "fasr", fasr.Implementation()) }

func TestRightEngineUnderStress(t *testing.T) {
	brokentest.Stress(t, fasr.Implementation(), rulesfasr.Rules(), brokentest.Usual(
		"loss random p=0.05\nparam units=1 blocks=2", "loss random p=0.05\nparam lostcnt_credit=true lc1_exact=true"))
}
