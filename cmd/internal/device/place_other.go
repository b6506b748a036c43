//go:build !linux

package device

import (
	"errors"

	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
)

// Place runs a Spec as it is: there is no device here.
func Place(b bench.Bench, given *scenario.Spec, impls [2]engine.Implementation) (*Job, error) {
	return &Job{given, b, impls}, nil
}

// Pair fails: there is no device here.
func Pair(bench.Bench, *scenario.Spec) (*Job, error) {
	return nil, errors.New("conform: --dut rxe needs Linux")
}
