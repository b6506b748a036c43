package fasr_test

import (
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/scenariotest"
	"github.com/rdma-gauntlet/gauntlet/impls/fasr"
)

func TestLadders(t *testing.T) { scenariotest.Run(t, fasr.Implementation(), "testdata") }
