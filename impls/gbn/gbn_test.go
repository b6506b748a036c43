package gbn

import (
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/engine/enginetest"
)

func TestContract(t *testing.T) { enginetest.Run(t, Implementation(), enginetest.Options{}) }

func FuzzEngine(f *testing.F) { enginetest.Fuzz(f, Implementation(), enginetest.Options{}) }
