package main

import (
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/lab"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns"
	"github.com/rdma-gauntlet/gauntlet/harness/dut"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/impls/gbn"
)

// deviceJob puts the device at one end of a scenario, and go-back-N at the other: that is what the device speaks.
func deviceJob(b bench.Bench, role string, given *scenario.Spec) (*conformJob, error) {
	for i := range given.Impl {
		given.Impl[i] = gbn.Implementation().Name
	}
	if role == asBoth {
		return pairJob(b, given)
	}
	side := deviceSide(role, given)
	tool, s, err := dut.Fit(given, side)
	if err != nil {
		return nil, err
	}
	job := &conformJob{spec: s, impls: [2]engine.Implementation{gbn.Implementation(), gbn.Implementation()}}
	job.impls[side] = dut.Implementation()
	job.bench, err = withDevice(b, &netns.Device{Side: side, Tool: tool})
	return job, err
}

// pairJob puts the device at both ends.
func pairJob(b bench.Bench, given *scenario.Spec) (*conformJob, error) {
	tools, s, err := dut.FitPair(given)
	if err != nil {
		return nil, err
	}
	active := trace.A
	if tools[trace.B].Active {
		active = trace.B
	}
	job := &conformJob{spec: s, impls: [2]engine.Implementation{dut.Implementation(), dut.Implementation()}}
	job.bench, err = withDevice(b, &netns.Device{Side: active, Tool: tools[active], Peer: tools[active.Other()]})
	return job, err
}

// withDevice returns a bench like b with a device at one end.
func withDevice(b bench.Bench, d *netns.Device) (bench.Bench, error) {
	switch b := b.(type) {
	case *benchOnDemand:
		return withDevice(b.Bench, d)
	case lab.Bench:
		inner, err := withDevice(b.Bench, d)
		return lab.Bench{Bench: inner}, err
	case *netns.Bench:
		with := *b
		with.Device = d
		return &with, nil
	}
	return nil, fmt.Errorf("conform: --dut needs real packets; use --bench netns or lab")
}
