package pseudoack

import (
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/brokentest"
	rulespack "github.com/rdma-gauntlet/gauntlet/conformance/rules/pack"
)

func TestMutants(t *testing.T) { brokentest.Mutants(t, Family()) }

func TestComplete(t *testing.T) { brokentest.Complete(t, Family(), rulespack.Rules()) }

func TestScenarios(t *testing.T) { brokentest.Scenarios(t, "pack-", right()) }
