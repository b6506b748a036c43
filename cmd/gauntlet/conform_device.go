package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
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
	asBoth      = dut.Name + "-" + dut.Name // the device is at both ends
)

// roles checks --dut and what goes with it. A device is one thing in two roles: whoever judges it wants both.
func (f *conformFlags) roles() ([]string, error) {
	switch {
	case f.dut != dut.Name:
		return nil, fmt.Errorf("--dut %.60q: want %s", f.dut, dut.Name)
	case f.impl != "":
		return nil, fmt.Errorf("--dut %s and --impl %s: name one of the two", f.dut, f.impl)
	case f.peer != "" && f.peer != dut.Name:
		return nil, fmt.Errorf("--dut %s and --peer %.60q: want %s as the peer, or none, which is this program", f.dut, f.peer, dut.Name)
	}
	if f.bench == "sim" {
		f.bench = "netns" // a device is in no simulation
	}
	if f.peer == dut.Name {
		return []string{asBoth}, nil
	}
	return []string{asResponder, asRequester}, nil
}

// subjects is what waivers call what is judged.
func subjects(impl string) []string {
	if impl == asBoth {
		return []string{asRequester, asResponder}
	}
	return []string{impl}
}

// judgeDevice changes a suite so that it judges a device. A rule that a scenario names may go without a verdict: it was
// written for endpoints that do as they are told.
func (f *conformFlags) judgeDevice(cfg *suite.Config) {
	device := dut.Implementation()
	cfg.Reference, cfg.Bench = nil, f.bench
	for _, role := range cfg.Implementations {
		cfg.Features[role] = device.Declares()
	}
	cfg.Scenarios = append(oneByOne(cfg.Scenarios), scenarios.Device()...)
	open := blackBoxRules()
	cfg.Fits = func(role string, sc *scenarios.Scenario) bool {
		return slices.ContainsFunc(sc.Rules, func(id string) bool { return open[id] != nil && about(open[id], role) }) && fits(role, sc) == nil
	}
}

// fits returns why a device cannot take a role in a scenario; nil when it can.
func fits(role string, sc *scenarios.Scenario) error {
	s, err := sc.Spec()
	if err != nil {
		return err
	}
	if role == asBoth {
		_, _, err := dut.FitPair(s)
		return err
	}
	tool, _, err := dut.Fit(s, deviceSide(role, s))
	if err == nil && tool.Answers && role == asResponder && tool.Tells() == 0 { // one that tells what it received has a verdict as such
		return errors.New("who does as much as its peer is in both roles at once")
	}
	return err
}

// adapters are the tools under which a device takes a role in a scenario.
func adapters(role string, sc *scenarios.Scenario) []string {
	s, err := sc.Spec()
	if err != nil {
		return nil
	}
	if role == asBoth {
		tools, _, err := dut.FitPair(s)
		if err != nil {
			return nil
		}
		return []string{tools[trace.A].String()} // two of a kind
	}
	tool, _, err := dut.Fit(s, deviceSide(role, s))
	if err != nil {
		return nil
	}
	return []string{tool.String()}
}

// oneByOne makes a scenario of each connection of those that have several, "hostile-lengths-qp3": a tool has one.
func oneByOne(all []scenarios.Scenario) (list []scenarios.Scenario) {
	for _, sc := range all {
		s, err := sc.Spec()
		if err != nil || s.QPs == 1 {
			list = append(list, sc) // what is wrong with it is told when it is registered
			continue
		}
		for i, alone := range dut.Split(s) {
			one := sc
			one.Name, one.Text = fmt.Sprintf("%s-qp%d", sc.Name, i), alone.String()
			list = append(list, one)
		}
	}
	return list
}

// blackBoxRules are those by which soft-RoCE can be judged from outside, by their IDs.
func blackBoxRules() map[string]*rule.Rule {
	open := map[string]*rule.Rule{}
	for _, r := range rules.All() {
		if markedRXE(&r) && (len(r.Features) == 0 || slices.Contains(deviceDeclares(), r.Features[0])) {
			open[r.ID] = &r
		}
	}
	return open
}

// deviceDeclares is every feature that soft-RoCE has under one tool or another.
func deviceDeclares() []string {
	device := dut.Implementation()
	return append(device.Declares(), dut.Unconnected)
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
