package writerecord_test

import (
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/scenariotest"
	"github.com/rdma-gauntlet/gauntlet/impls/writerecord"
)

func TestLadders(t *testing.T) { scenariotest.Run(t, writerecord.Implementation(), "testdata") }
