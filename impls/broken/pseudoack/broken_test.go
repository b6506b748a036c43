package pseudoack

import (
	"testing"

	rulespack "github.com/rdma-gauntlet/gauntlet/conformance/rules/pack"
	"github.com/rdma-gauntlet/gauntlet/impls/broken/brokentest"
)

func TestMutants(t *testing.T) { brokentest.Mutants(t, Family()) }

func TestComplete(t *testing.T) { brokentest.Complete(t, Family(), rulespack.Rules()) }

func TestScenarios(t *testing.T) { brokentest.Scenarios(t, "pack-", right()) }
