package ctr

import (
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule/ruletest"
)

func TestFixtures(t *testing.T) { ruletest.Run(t, Rules(), "testdata") }
