package main

import (
	"fmt"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/lab"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/device"
	"github.com/rdma-gauntlet/gauntlet/harness/dut"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/impls/gbn"
)

// deviceJob puts the device at one end of a scenario, and go-back-N at the other: that is what the device speaks.
func deviceJob(b bench.Bench, role string, given *scenario.Spec) (*conformJob, error) {
	impls := [2]engine.Implementation{gbn.Implementation(), gbn.Implementation()}
	for side := range given.Impl {
		given.Impl[side] = impls[side].Name
	}
	if role == asBoth {
		return pairJob(b, given)
	}
	impls[deviceSide(role, given)] = dut.Implementation()
	return place(b, given, impls)
}

// place says how a Spec runs with these implementations, and where: with a device at the ends that have one.
func place(b bench.Bench, given *scenario.Spec, impls [2]engine.Implementation) (*conformJob, error) {
	var side trace.Side
	switch device := [2]bool{impls[trace.A].Name == dut.Name, impls[trace.B].Name == dut.Name}; {
	case device[trace.A] && device[trace.B]:
		return pairJob(b, given)
	case device[trace.B]:
		side = trace.B
	case !device[trace.A]:
		return &conformJob{given, b, impls}, nil
	}
	tool, s, err := dut.Fit(given, side)
	if err != nil {
		return nil, err
	}
	if tool.Datagrams() { // which its peer, who crafts them, sends
		for i := range impls {
			impls[i].Features = append(slices.Clone(impls[i].Features), dut.Unconnected)
		}
	}
	job := &conformJob{spec: s, impls: impls}
	job.bench, err = withDevice(b, &device.Device{Side: side, Tool: tool})
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
	job.bench, err = withDevice(b, &device.Device{Side: active, Tool: tools[active], Peer: tools[active.Other()]})
	return job, err
}

// withDevice returns a bench like b with a device at one end.
func withDevice(b bench.Bench, d *device.Device) (bench.Bench, error) {
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
	return nil, fmt.Errorf("%s needs the kernel; use --bench netns or lab", dut.Name)
}
