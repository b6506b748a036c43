package lowar_test

import (
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/scenariotest"
	"github.com/rdma-gauntlet/gauntlet/impls/gbn"
	"github.com/rdma-gauntlet/gauntlet/impls/gobackone"
	"github.com/rdma-gauntlet/gauntlet/impls/lowar"
)

func TestLadders(t *testing.T) {
	scenariotest.Run(t, lowar.Over(gbn.Implementation()), "testdata")
}

func TestLaddersOverGoBackONE(t *testing.T) {
	scenariotest.Run(t, lowar.Over(gobackone.Implementation()), "testdata/gb1")
}
