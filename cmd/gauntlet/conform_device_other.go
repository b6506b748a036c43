//go:build !linux

package main

import (
	"errors"

	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
)

func place(b bench.Bench, given *scenario.Spec, impls [2]engine.Implementation) (*conformJob, error) {
	return &conformJob{given, b, impls}, nil
}

func deviceJob(bench.Bench, string, *scenario.Spec) (*conformJob, error) {
	return nil, errors.New("conform: --dut rxe needs Linux")
}
