package device

import (
	"fmt"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/registry"
	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/lab"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/device"
	"github.com/rdma-gauntlet/gauntlet/harness/dut"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// Place adapts a Spec to its implementations, and returns it with a bench that has a device at the ends that need one.
// The error is dut.ErrUnfit if no tool can do the Spec's work.
func Place(b bench.Bench, given *scenario.Spec, impls [2]engine.Implementation) (*Job, error) {
	var side trace.Side
	switch is := [2]bool{dut.Known(impls[trace.A].Name), dut.Known(impls[trace.B].Name)}; {
	case is[trace.A] && is[trace.B]:
		return Pair(b, given)
	case is[trace.B]:
		side = trace.B
	case !is[trace.A]:
		return &Job{given, b, impls}, nil
	}
	tool, s, err := dut.Fit(given, side)
	if err != nil {
		return nil, err
	}
	if tool.Datagrams() { // datagrams come from the peer, which crafts them, so both ends declare them
		for i := range impls {
			impls[i].Features = append(slices.Clone(impls[i].Features), dut.Unconnected)
		}
	}
	job := &Job{Spec: s, Impls: impls}
	job.Bench, err = withDevice(b, &device.Device{Side: side, Tool: tool}, s.Impl)
	return job, err
}

// Pair adapts a Spec to a device at both ends.
func Pair(b bench.Bench, given *scenario.Spec) (*Job, error) {
	tools, s, err := dut.FitPair(given)
	if err != nil {
		return nil, err
	}
	active := trace.A
	if tools[trace.B].Active {
		active = trace.B
	}
	job := &Job{Spec: s, Impls: [2]engine.Implementation{dut.Describe(s.Impl[trace.A]), dut.Describe(s.Impl[trace.B])}}
	job.Bench, err = withDevice(b,
		&device.Device{Side: active, Tool: tools[active], Peer: tools[active.Other()]}, s.Impl)
	return job, err
}

// withDevice returns a copy of a bench with a device at one end or both; impl has the names of the implementations.
func withDevice(b bench.Bench, d *device.Device, impl [2]string) (bench.Bench, error) {
	switch b := b.(type) {
	case *registry.OnDemand:
		return withDevice(b.Bench, d, impl)
	case lab.Bench:
		inner, err := withDevice(b.Bench, d, impl)
		return lab.Bench{Bench: inner}, err
	case *registry.Remote:
		with, far := *b.Bench, *d
		var err error
		far.Places, err = b.Places(impl)
		with.Device = &far
		return &with, err
	case *netns.Bench:
		with := *b
		with.Device = d
		return &with, nil
	}
	return nil, fmt.Errorf("%s needs the kernel; use --bench netns, lab or remote", dut.Name)
}
