package irn_test

import (
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/scenariotest"
	"github.com/rdma-gauntlet/gauntlet/impls/irn"
)

func TestLadders(t *testing.T) { scenariotest.Run(t, irn.Implementation(), "testdata") }
