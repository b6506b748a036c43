package conform

import (
	"errors"
	"fmt"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/device"
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules"
	"github.com/rdma-gauntlet/gauntlet/conformance/scenarios"
	"github.com/rdma-gauntlet/gauntlet/conformance/suite"
	"github.com/rdma-gauntlet/gauntlet/harness/dut"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// roles checks --dut and the options beside it. A device is judged in both its roles, so both are returned.
func (o *Options) roles() ([]string, error) {
	switch {
	case !dut.Known(o.Device) || o.Device != dut.Name && o.Open == nil:
		return nil, fmt.Errorf("--dut %.60q: want %s, or a host with --testbed FILE", o.Device, dut.Name)
	case o.Impl != "":
		return nil, fmt.Errorf("--dut %s and --impl %s: name one of the two", o.Device, o.Impl)
	case o.Peer != "" && o.Peer != dut.Name:
		return nil, fmt.Errorf("--dut %s and --peer %.60q: want %s as the peer, or none, which is this program",
			o.Device, o.Peer, dut.Name)
	}
	if o.Peer == dut.Name {
		if o.Open != nil {
			return nil, fmt.Errorf(
				"--peer %s: a testbed has one device between this machine and the link; leave --peer out", o.Peer)
		}
		return []string{device.Both}, nil
	}
	responder, requester := device.Roles(o.Device)
	return []string{responder, requester}, nil
}

// judgeDevice changes a suite so that it judges a device. A scenario need not exercise the rules that it names: it was
// written for endpoints that follow the Spec, and a device may choose otherwise.
func judgeDevice(cfg *suite.Config) {
	rxe := dut.Implementation()
	cfg.Reference = nil
	for _, role := range cfg.Implementations {
		cfg.Features[role] = rxe.Declares()
	}
	cfg.Scenarios = append(oneByOne(cfg.Scenarios), scenarios.Device()...)
	open := blackBoxRules()
	cfg.Fits = func(role string, sc *scenarios.Scenario) bool {
		return slices.ContainsFunc(sc.Rules, func(id string) bool {
			return open[id] != nil && about(open[id], role)
		}) && fits(role, sc) == nil
	}
}

// fits returns the reason why a device cannot take a role in a scenario, nil when it can.
func fits(role string, sc *scenarios.Scenario) error {
	s, err := sc.Spec()
	if err != nil {
		return err
	}
	if role == device.Both {
		_, _, err := dut.FitPair(s)
		return err
	}
	tool, _, err := dut.Fit(s, device.Side(role, s))
	// a tool that reports what it received can still be judged as the responder
	if err == nil && tool.Answers && !requests(role) && tool.Tells() == 0 {
		return errors.New("a device that sends as much as its peer is in both roles at once")
	}
	return err
}

// adapters lists the tools with which a device takes a role in a scenario.
func adapters(role string, sc *scenarios.Scenario) []string {
	s, err := sc.Spec()
	if err != nil {
		return nil
	}
	if role == device.Both {
		tools, _, err := dut.FitPair(s)
		if err != nil {
			return nil
		}
		return []string{tools[trace.A].String()} // the tools of both sides are the same
	}
	tool, _, err := dut.Fit(s, device.Side(role, s))
	if err != nil {
		return nil
	}
	return []string{tool.String()}
}

// oneByOne splits a scenario of several connections into one for each, such as "hostile-lengths-qp3": a tool has one
// connection.
func oneByOne(all []scenarios.Scenario) (list []scenarios.Scenario) {
	for _, sc := range all {
		s, err := sc.Spec()
		if err != nil || s.QPs == 1 {
			list = append(list, sc) // its registration reports the error
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

// blackBoxRules returns the rules that soft-RoCE can be judged by from outside, by ID.
func blackBoxRules() map[string]*rule.Rule {
	open := map[string]*rule.Rule{}
	for _, r := range rules.All() {
		if markedRXE(&r) && (len(r.Features) == 0 || slices.Contains(device.Declares(), r.Features[0])) {
			open[r.ID] = &r
		}
	}
	return open
}
