//go:build !linux

package main

import (
	"errors"

	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
)

func deviceJob(bench.Bench, string, *scenario.Spec) (*conformJob, error) {
	return nil, errors.New("conform: --dut rxe needs Linux")
}
