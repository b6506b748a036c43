package srnic_test

import (
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/scenariotest"
	"github.com/rdma-gauntlet/gauntlet/impls/srnic"
)

func TestLadders(t *testing.T) { scenariotest.Run(t, srnic.Implementation(), "testdata") }
