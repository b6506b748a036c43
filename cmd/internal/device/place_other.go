//go:build !linux

package device

import (
	"errors"

	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
)

// Place returns the Spec unchanged: there are no devices on this system.
func Place(b bench.Bench, given *scenario.Spec, impls [2]engine.Implementation) (*Job, error) {
	return &Job{given, b, impls}, nil
}

// Pair returns an error: there are no devices on this system.
func Pair(bench.Bench, *scenario.Spec) (*Job, error) {
	return nil, errors.New("conform: --dut rxe needs Linux")
}
