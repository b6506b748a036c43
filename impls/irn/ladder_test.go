package irn_test

import (
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/scenario/scenariotest"
	"github.com/rdma-gauntlet/gauntlet/impls/irn"
)

func TestLadders(t *testing.T) { scenariotest.Run(t, irn.Implementation(), "testdata") }
