package gbn_test

import (
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/scenariotest"
	"github.com/rdma-gauntlet/gauntlet/impls/gbn"
)

func TestLadders(t *testing.T) { scenariotest.Run(t, gbn.Implementation(), "testdata") }
