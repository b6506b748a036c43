package rciwarp

import (
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/brokentest"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules/rciw"
	"github.com/rdma-gauntlet/gauntlet/impls/rciwarp"
)

func TestMutants(t *testing.T) { brokentest.Mutants(t, Family()) }

func TestComplete(t *testing.T) { brokentest.Complete(t, Family(), rciw.Rules()) }

func TestScenarios(t *testing.T) { brokentest.Scenarios(t, "rciw-", rciwarp.Implementation()) }
