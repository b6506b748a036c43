package rciwarp_test

import (
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/scenariotest"
	"github.com/rdma-gauntlet/gauntlet/impls/rciwarp"
)

func TestLadders(t *testing.T) { scenariotest.Run(t, rciwarp.Implementation(), "testdata") }
