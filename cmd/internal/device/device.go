// Package device puts a device under test into a run: in a role, at an end, driven by a stock tool (see package dut),
// on a bench. It makes no run and judges nothing.
package device

import (
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/dut"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/impls/gbn"
)

// The roles of a device under test. They are used like names of implementations: in tables, labels of scenarios and
// waivers.
const (
	Responder = dut.Name + responds
	Requester = dut.Name + requests
	Both      = dut.Name + "-" + dut.Name // the device is at both ends

	responds = "-responder"
	requests = "-requester"
)

// Roles returns the names of a device of dut.Names in its two roles.
func Roles(name string) (responder, requester string) { return name + responds, name + requests }

// Named returns the name of the device in a role.
func Named(role string) string {
	name, _, _ := strings.Cut(role, "-")
	return name
}

// Subjects returns the names by which waivers address an implementation, or a device in a role.
func Subjects(name string) []string {
	if name == Both {
		return []string{Requester, Responder}
	}
	return []string{name}
}

// Count returns how many of some implementations are devices.
func Count(names ...string) (n int) {
	for _, name := range names {
		if dut.Known(name) {
			n++
		}
	}
	return n
}

// Declares returns all features that soft-RoCE has with any of the tools.
func Declares() []string {
	device := dut.Implementation()
	return append(device.Declares(), dut.Unconnected)
}

// Side returns the side of the device in a role: the requester's for the requester. If both ends send requests, in
// turns, that is A; the scenario says which end begins.
func Side(role string, s *scenario.Spec) trace.Side {
	side := trace.A
	for _, l := range s.Loads {
		side = l.From
	}
	for _, p := range s.Posts {
		if !p.Receive {
			side = p.From
		}
	}
	if strings.HasSuffix(role, responds) {
		side = side.Other()
	}
	return side
}

// Job is a Spec that can be run with a device: adapted to the tools, with the implementations at its ends, and a bench
// that has the device.
type Job struct {
	Spec  *scenario.Spec
	Bench bench.Bench
	Impls [2]engine.Implementation
}

// As puts the device at one end of a Spec in a role, and go-back-N, which is the device's protocol, at the other. It
// changes the Spec.
func As(role string, b bench.Bench, given *scenario.Spec) (*Job, error) {
	impls := [2]engine.Implementation{gbn.Implementation(), gbn.Implementation()}
	for side := range given.Impl {
		given.Impl[side] = impls[side].Name
	}
	if role == Both {
		return Pair(b, given)
	}
	side := Side(role, given)
	impls[side] = dut.Describe(Named(role))
	given.Impl[side] = impls[side].Name
	return Place(b, given, impls)
}
