package netns

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"

	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/child"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/device"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/link"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/plan"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/topology"
	"github.com/rdma-gauntlet/gauntlet/harness/contract"
	"github.com/rdma-gauntlet/gauntlet/harness/drive"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Bench runs a Spec with real packets between network namespaces on this host.
type Bench struct {
	Self   string         // the binary that knows the hidden commands "process endpoint", box, relay, host and janitor
	Expose string         // names the namespaces while the run lasts; "" leaves them anonymous
	Device *device.Device // replaces the endpoint at one end or both; nil is none

	// Apart starts the program of an implementation in a role (endpoint or box) with a separate network namespace, such
	// as in a container. Nil starts all as processes; a program with a path is always started as a process.
	Apart func(ctx context.Context, role string, impl *engine.Implementation) (*contract.Program, error)
}

var (
	_ bench.Bench   = (*Bench)(nil)
	_ bench.Checker = (*Bench)(nil)
)

// Check implements bench.Checker.
func (b *Bench) Check(job *bench.Job) error {
	if err := topology.Privileged(); err != nil {
		return err
	}
	if err := b.startable(job); err != nil {
		return err
	}
	if _, err := boxOf(job); err != nil {
		return err
	}
	if _, err := overKernelTCP(job); err != nil {
		return err
	}
	if err := b.dilatable(job); err != nil {
		return err
	}
	_, err := chooseLink(job, job.Dilation)
	return err
}

// Run implements bench.Bench. The captured packets are judged even after an error; the first error is returned, without
// its consequences.
func (b *Bench) Run(ctx context.Context, job *bench.Job) (ev *bench.Evidence, err error) {
	if err := job.Fitted(); err != nil {
		return nil, err
	}
	s := &session{bench: b, job: job, spec: job.Spec, evidence: &bench.Evidence{}}
	defer func() {
		if closeErr := s.close(); err == nil {
			err = closeErr
		}
	}()
	if err := s.steps(ctx, step{"starting containers", s.startContainers}, step{"building the network", s.build},
		step{"measuring the link", s.probe(&s.before)},
		step{"starting endpoints", s.startParties}, step{"watching the ports", s.watch}); err != nil {
		return s.evidence, err
	}
	err = s.steps(ctx, step{"running", s.traffic})
	late := errors.Is(err, errLimit)
	err = halted(err, s.halt())
	switch {
	// A link that did not behave as its Spec says may be the cause of a late run, but not of one without any packets.
	case late && bench.FaultOf(err) != nil:
		_ = s.steps(ctx, step{"measuring the link again", s.probe(&s.after)}) // the first error says more
	case err == nil:
		err = s.steps(ctx, step{"checking memory", s.verify}, step{"measuring the link again", s.probe(&s.after)})
	}
	s.progress(1, "merging the captures")
	if mergeErr := s.merge(err == nil); err == nil {
		err = mergeErr
	}
	s.certify()
	return s.evidence, err
}

// startable checks that there is a way to start both implementations.
func (b *Bench) startable(job *bench.Job) error {
	for _, impl := range job.Impls {
		if scenario.PartyOf(impl.Name).Image != "" && b.Apart == nil {
			return fmt.Errorf("netns: %s is an image; want the container bench", impl.Name)
		}
	}
	return nil
}

// boxOf builds the box of a job, to check that it can be built and to get its attributes; nil without a middlebox. This
// box never processes a frame.
func boxOf(job *bench.Job) (*drive.Box, error) {
	impl := &job.Impls[trace.A]
	if impl.NewBox == nil {
		return nil, nil
	}
	b, err := drive.NewBox(job.Spec, impl, nil)
	if err != nil {
		return nil, fmt.Errorf("netns: %w", err)
	}
	return b, nil
}

// chooseLink chooses the stages of the Spec's link; a second of the Spec lasts k seconds.
func chooseLink(job *bench.Job, k vtime.Dilation) (link.Choice, error) {
	return link.Choose(link.Request{Spec: job.Spec, Hop: plan.RouteOf(job.Spec, boxed(job)).WAN(), Wish: job.Link,
		OverIP: job.Impls[trace.A].OverIP() || job.Impls[trace.B].OverIP(), Dilation: k})
}

// boxed reports whether there is a middlebox in the path.
func boxed(job *bench.Job) bool { return job.Impls[trace.A].NewBox != nil }

// devices reports, by side, whether the end is a device.
func (b *Bench) devices() (at [2]bool) {
	if b.Device != nil {
		at[b.Device.Side] = true
		at[b.Device.Side.Other()] = b.Device.Peer != nil
	}
	return at
}

// own reports, by side, whether the end is in the namespace of this process.
func (b *Bench) own() (own [2]bool) {
	if b.Device.Far() {
		return own
	}
	return b.devices()
}

// janitor returns the command of the process that removes names when this one dies.
func (b *Bench) janitor(names []string) *exec.Cmd {
	return child.Body(b.Self, append([]string{"janitor"}, names...)...)
}

// command returns the command that starts an implementation in a role.
func (b *Bench) command(role string, impl *engine.Implementation) *exec.Cmd {
	path := scenario.PartyOf(impl.Name).Program
	if path == "" {
		return child.Body(b.Self, role, impl.Name)
	}
	if whole, err := filepath.Abs(path); err == nil { // an absolute path is not looked up in PATH
		path = whole
	}
	return child.Command(path)
}
