package writerecord

import (
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/brokentest"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules/diw"
	"github.com/rdma-gauntlet/gauntlet/impls/writerecord"
)

func TestMutants(t *testing.T) { brokentest.Mutants(t, Family()) }

func TestComplete(t *testing.T) { brokentest.Complete(t, Family(), diw.Rules()) }

func TestScenarios(t *testing.T) { brokentest.Scenarios(t, "diw-", writerecord.Implementation()) }
