package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/conformance/rules"
	"github.com/rdma-gauntlet/gauntlet/conformance/scenarios"
	"github.com/rdma-gauntlet/gauntlet/conformance/suite"
	"github.com/rdma-gauntlet/gauntlet/harness/dut"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// The roles of a device under test, as the suite names them.
const (
	asResponder = dut.Name + "-responder"
	asRequester = dut.Name + "-requester"
)

// roles checks --dut and what goes with it. A device is one thing in two roles: whoever judges it wants both.
func (f *conformFlags) roles() ([]string, error) {
	switch {
	case f.dut != dut.Name:
		return nil, fmt.Errorf("--dut %.60q: want %s", f.dut, dut.Name)
	case f.impl != "":
		return nil, fmt.Errorf("--dut %s and --impl %s: name one of the two", f.dut, f.impl)
	}
	if f.bench == "sim" {
		f.bench = "netns" // a device is in no simulation
	}
	return []string{asResponder, asRequester}, nil
}

// judgeDevice changes a suite so that it judges a device. A rule that a scenario names may go without a verdict: it was
// written for endpoints that do as they are told.
func (f *conformFlags) judgeDevice(cfg *suite.Config) {
	device := dut.Implementation()
	cfg.Reference, cfg.Bench = nil, f.bench
	for _, role := range cfg.Implementations {
		cfg.Features[role] = device.Declares()
	}
	open := blackBoxRules()
	cfg.Fits = func(role string, sc *scenarios.Scenario) bool {
		if !slices.ContainsFunc(sc.Rules, func(id string) bool { return open[id] }) {
			return false
		}
		s, err := sc.Spec()
		if err != nil {
			return false
		}
		tool, _, err := dut.Fit(s, deviceSide(role, s))
		return err == nil && !(tool.Answers && role == asResponder) // who does as much as its peer is in both roles at once
	}
}

// blackBoxRules are those by which soft-RoCE can be judged from outside.
func blackBoxRules() map[string]bool {
	open := map[string]bool{}
	for _, r := range rules.All() {
		open[r.ID] = slices.Contains(strings.Split(r.BlackBox, ","), "RXE") && len(r.Features) == 0 || slices.Contains(r.Features, "gbn")
	}
	return open
}

// deviceSide is where the device has to be to take a role: at the side that works as the requester. Where both do, in turns, it
// is at A, and who begins is for the scenario to say.
func deviceSide(role string, s *scenario.Spec) trace.Side {
	side := trace.A
	for _, l := range s.Loads {
		side = l.From
	}
	for _, p := range s.Posts {
		if !p.Receive {
			side = p.From
		}
	}
	if strings.HasSuffix(role, asResponder) {
		side = side.Other()
	}
	return side
}
