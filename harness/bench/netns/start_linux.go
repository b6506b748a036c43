package netns

import (
	"cmp"
	"context"
	"net"
	"os"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/child"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/party"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/plan"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/topology"
	"github.com/rdma-gauntlet/gauntlet/harness/contract"
	"github.com/rdma-gauntlet/gauntlet/harness/drive"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/packetio"
)

// startParties starts the processes; they wait for their start time.
func (s *session) startParties(context.Context) (err error) {
	for side, c := range s.network.Ends() {
		if s.bench.devices()[side] {
			continue
		}
		if s.parties.Ends[side], err = s.startParty(c.In, plan.RoleEndpoint, trace.Side(side),
			c.Host.Device); err != nil {
			return err
		}
	}
	if s.acts != nil {
		s.parties.Box, err = s.startParty(s.network.X, plan.RoleBox, trace.A, topology.DeviceLAN, topology.DeviceWAN)
	}
	return err
}

// startParty starts one process on its devices.
func (s *session) startParty(n *topology.Namespace, role string, side trace.Side,
	devices ...string) (*party.Party, error) {
	streams, err := overKernelTCP(s.job)
	if err != nil {
		return nil, err
	}
	events, path, err := s.report(n)
	if err != nil {
		return nil, err
	}
	if err := s.mute(n); err != nil {
		return nil, err
	}
	impl := &s.job.Impls[side]
	c, err := s.program(n, role, impl)
	if err != nil {
		return nil, err
	}
	order := setup(s.spec, side)
	if impl.OverIP() {
		aside(&order, side)
	}
	order.Device, order.Report, order.Streams = strings.Join(devices, " "), path, streams
	e, err := party.Start(c, party.Options{Name: nameOf(role, side, impl), Side: side, Fault: faultOf(side, impl),
		Dilate: s.base.Dilation, Report: events,
		Orders: append([]contract.Order{order}, drive.Orders(s.spec, side)...)})
	if err != nil {
		return nil, err
	}
	s.later(e.Close)
	if impl.NewStream != nil {
		s.fact(e.Name+" TCP", cmp.Or(e.Ready.TCP, engine.LiteTCP))
	}
	return e, nil
}

// faultOf marks the errors for which the implementation at a side is to blame; nil where that is a program of the
// harness.
func faultOf(side trace.Side, impl *engine.Implementation) func(error) error {
	if !scenario.Foreign(impl.Name) {
		return nil
	}
	return func(err error) error { return faultAt(side, impl.Name, err) }
}

// nameOf is the name of a program in errors and in the report.
func nameOf(role string, side trace.Side, impl *engine.Implementation) string {
	name := role
	if role == plan.RoleEndpoint {
		name += " " + side.String()
	}
	if scenario.Foreign(impl.Name) {
		name += " (" + impl.Name + ")"
	}
	return name
}

// program returns the program of a role in a namespace: a container that was started before, or a process that is
// started now.
func (s *session) program(n *topology.Namespace, role string, impl *engine.Implementation) (*child.Child, error) {
	c := s.containers[n.Label]
	if c == nil {
		return child.Launch(s.network, n, role, s.bench.command(role, impl))
	}
	// Children of this process inherit its set of processors, which leaves out the relay's.
	return c, packetio.Share(c.PID)
}

// report creates the file for the reports of the program in a namespace, and returns its path in the program's file
// system.
func (s *session) report(n *topology.Namespace) (events *os.File, path string, err error) {
	if c := s.containers[n.Label]; c != nil && c.Report != nil {
		if events, path, err = c.Report(); err == nil {
			s.later(events.Close)
		}
		return events, path, err
	}
	return s.shared("events")
}

// mute keeps the kernel of a namespace from answering packets for the program in it.
func (s *session) mute(n *topology.Namespace) error {
	return n.Do(func() error {
		mute, err := packetio.Mute(roce.Port)
		if err == nil {
			s.later(mute.Close)
		}
		return err
	})
}

// aside gives a program whose packets are not RoCEv2 the addresses that no kernel of a namespace answers.
func aside(o *contract.Order, side trace.Side) {
	own, peer := drive.OverIPMAC(side), drive.OverIPMAC(side.Other())
	o.MAC, o.PeerMAC = net.HardwareAddr(own[:]).String(), net.HardwareAddr(peer[:]).String()
}

// setup is the first line for the program of a side, without its devices.
func setup(spec *scenario.Spec, side trace.Side) contract.Order {
	hosts := [2]topology.Host{topology.HostA(), topology.HostB()}
	own, peer := hosts[side], hosts[side.Other()]
	link := spec.Link.AB
	if side == trace.B {
		link = spec.Link.BA
	}
	return contract.Order{
		Op: contract.OpSetup, Contract: contract.Version, Side: side.String(), MAC: own.MAC.String(),
		IP:      own.IP.String(),
		PeerMAC: peer.MAC.String(), PeerIP: peer.IP.String(), QPs: spec.QPs, Rate: int64(cmp.Or(link.Port, link.Rate)),
		RTT: int64(spec.RTT() / vtime.Nanosecond), Deadline: int64(min(spec.Limit, maxRun) / vtime.Millisecond),
		Seed: spec.Seed,
		Spec: spec.String(),
	}
}
