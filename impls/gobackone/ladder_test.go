package gobackone_test

import (
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/scenariotest"
	"github.com/rdma-gauntlet/gauntlet/impls/gobackone"
)

func TestLadders(t *testing.T) { scenariotest.Run(t, gobackone.Implementation(), "testdata") }
