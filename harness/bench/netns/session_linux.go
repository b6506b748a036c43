package netns

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/child"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/device"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/measure"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/party"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/plan"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/topology"
	"github.com/rdma-gauntlet/gauntlet/harness/drive"
	"github.com/rdma-gauntlet/gauntlet/harness/quote"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/certify"
	"github.com/rdma-gauntlet/gauntlet/netem/packetio"
)

// session is one run in progress. Its resources are closed in the opposite order of opening, however the run ends.
type session struct {
	undo
	bench *Bench
	job   *bench.Job
	spec  *scenario.Spec // Spec of the job, with the numbers that a device has announced

	base       packetio.Timebase
	clock      *packetio.Clock // for this goroutine; others have a Clock of base each
	acts       *drive.Box      // the box in the path, for its attributes; nil without one
	containers containers
	network    *topology.Topology
	devices    *device.Tools   // nil without a device
	cables     []device.Joined // to devices on other machines
	legs       legs
	parties    party.Parties
	relays     *packetio.Reserved // the processor of the relays; nil when they have none
	failed     <-chan error       // of links and taps that have ended

	at       span
	before   *measure.Idle  // the link of the Spec without traffic
	after    *measure.Idle  // the same at the end; nil after a run that broke
	cabled   []certify.Item // of the cables, when the run is over
	evidence *bench.Evidence
}

// span is the time of a run. Its own time zero is the epoch.
type span struct {
	epoch vtime.Time // on the clock of the bench
	wall  time.Time  // the epoch on the wall clock
	cut   vtime.Time // where the trace ends, in time of the run; 0 while it goes on
}

// step is a part of a run that can be interrupted before it begins.
type step struct {
	what string
	do   func(context.Context) error
}

func (s *session) steps(ctx context.Context, list ...step) error {
	for _, step := range list {
		if ctx.Err() != nil {
			return interrupted(ctx)
		}
		s.progress(0, step.what)
		if err := step.do(ctx); err != nil {
			if ctx.Err() != nil {
				return interrupted(ctx)
			}
			return err
		}
	}
	return nil
}

// interrupted returns the error of a run that was cancelled.
func interrupted(ctx context.Context) error {
	return fmt.Errorf("netns: interrupted: %w", context.Cause(ctx))
}

func (s *session) progress(share float64, what string) {
	if s.job.Progress != nil {
		s.job.Progress(share, what)
	}
}

// fact adds a fact about the machine to the report.
func (s *session) fact(name, value string) {
	s.evidence.Environment = append(s.evidence.Environment, [2]string{quote.Line(name, quote.Sentence),
		quote.Line(value, quote.Sentence)})
}

// build creates the namespaces and the link.
func (s *session) build(ctx context.Context) (err error) {
	k, err := s.dilate(ctx)
	if err != nil {
		return err
	}
	s.base = packetio.Timebase{Start: packetio.Monotonic(), Dilation: k}
	s.clock = s.base.Clock()
	choice, err := chooseLink(s.job, k)
	if err != nil {
		return err
	}
	s.evidence.Notes = append(s.evidence.Notes, "link: "+choice.Why)
	s.fact("link", choice.String())
	s.factKernel()
	s.fact("processors", fmt.Sprint(runtime.NumCPU()))
	s.network, err = topology.Open(topology.Options{Box: s.acts != nil, Bridge: choice.Alone, Name: s.bench.Expose,
		Janitor: s.bench.janitor, Own: s.bench.own(), Of: s.containers.homes(), Steer: choice.Netem || choice.Injector})
	if err != nil {
		return cmp.Or(s.died(), err)
	}
	s.later(s.network.Close)
	if err := s.join(); err != nil {
		return err
	}
	site := device.Site{Network: s.network, Base: s.base.Start, Fact: s.fact, Fault: faultAt}
	devices, learned, err := device.Introduce(s.bench.Device, site, s.spec)
	if err != nil {
		return err
	}
	s.devices, s.spec = devices, learned
	s.later(s.devices.Close)
	return s.openLegs(choice)
}

// factKernel reports the kernel that the device is part of, on which waivers depend; a far device reports its own.
func (s *session) factKernel() {
	if s.bench.Device.Far() {
		s.fact("kernel of the harness", kernel())
		return
	}
	s.fact("kernel", kernel())
}

// join joins the cables of devices that are on other machines to their ends of the network here, whose own kernel is
// silent.
func (s *session) join() error {
	if !s.bench.Device.Far() {
		return nil
	}
	for side, place := range s.bench.Device.Places {
		far, ok := place.(device.Joiner)
		if !ok {
			continue
		}
		end := s.network.Ends()[side]
		if err := s.mute(end.In); err != nil {
			return err
		}
		launch := func(files ...*os.File) (*child.Child, error) {
			cmd := child.Body(s.bench.Self, plan.RoleCable)
			cmd.ExtraFiles = files
			return child.Launch(s.network, end.In, plan.RoleCable, cmd)
		}
		cable, err := far.Join(
			device.End{Side: trace.Side(side), Device: end.Host.Device, Base: s.base.Start, Launch: launch})
		if err != nil {
			return err
		}
		s.cables = append(s.cables, cable)
		s.later(cable.Close)
	}
	return nil
}

// kernel returns the release of the running kernel.
func kernel() string {
	var name unix.Utsname
	if unix.Uname(&name) != nil {
		return "unknown"
	}
	return unix.ByteSliceToString(name.Release[:])
}

// probe measures the link of the Spec while it loses nothing. The LAN of a middlebox behaves like a cable, faster than
// this host can send: only its effects on the traffic are checked.
func (s *session) probe(into **measure.Idle) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := s.legs.delayOnly(); err != nil {
			return err
		}
		wan := s.legs.wan()
		idle, err := measure.Probe(ctx, measure.Setup{Hop: wan.hop, Open: wan.openers(), Clock: s.clock,
			MTU: s.spec.QP[0].MTU, RTT: s.spec.RTT()})
		*into = idle
		return err
	}
}
