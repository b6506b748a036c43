package pseudoack_test

import (
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/scenariotest"
	"github.com/rdma-gauntlet/gauntlet/impls/gbn"
	"github.com/rdma-gauntlet/gauntlet/impls/pseudoack"
)

func TestLadders(t *testing.T) { scenariotest.Run(t, pseudoack.Over(gbn.Implementation()), "testdata") }
