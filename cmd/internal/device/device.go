// Package device puts the kernel's soft-RoCE into a run: in which role, at which end, driven by which stock tool
// (package dut knows the tools), and on which bench. It makes no run itself and judges nothing.
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

// The roles of a device under test. They are named as implementations are: in tables, scenarios' labels and waivers.
const (
	Responder = dut.Name + responds
	Requester = dut.Name + requests
	Both      = dut.Name + "-" + dut.Name // the device is at both ends

	responds = "-responder"
	requests = "-requester"
)

// Roles are what a device of one of dut.Names is called in its two roles.
func Roles(name string) (responder, requester string) { return name + responds, name + requests }

// Named is the device that is in a role.
func Named(role string) string {
	name, _, _ := strings.Cut(role, "-")
	return name
}

// Subjects is what waivers call an implementation or a device in a role.
func Subjects(name string) []string {
	if name == Both {
		return []string{Requester, Responder}
	}
	return []string{name}
}

// Count is how many of some implementations are devices.
func Count(names ...string) (n int) {
	for _, name := range names {
		if dut.Known(name) {
			n++
		}
	}
	return n
}

// Declares is every feature that soft-RoCE has under one tool or another.
func Declares() []string {
	device := dut.Implementation()
	return append(device.Declares(), dut.Unconnected)
}

// Side is where the device has to be to take a role: at the side that works as the requester. Where both do, in turns,
// it is at A, and who begins is for the scenario to say.
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

// Job is a Spec as it can be run: changed to what the tools do, with who is at its ends, on a bench that has the
// device.
type Job struct {
	Spec  *scenario.Spec
	Bench bench.Bench
	Impls [2]engine.Implementation
}

// As puts the device at one end of a Spec in a role, and go-back-N at the other: that is what the device speaks. The
// Spec is changed.
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
