package netns

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/contract"
	"github.com/rdma-gauntlet/gauntlet/harness/drive"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/certify"
	"github.com/rdma-gauntlet/gauntlet/netem/packetio"
)

// Bench runs a Spec with real packets between network namespaces on this host.
type Bench struct {
	Self   string  // the binary that knows the hidden commands "process endpoint", "process box", "process relay" and "process janitor"
	Expose string  // names the namespaces while the run lasts; "" leaves them anonymous
	Device *Device // stands at one end in place of an endpoint; nil is none

	// Apart starts what an implementation does in a role (endpoint or box) where there is a network namespace of its own, such
	// as a container. Nil starts everything as processes, which a program with a path always is.
	Apart func(ctx context.Context, role string, impl *engine.Implementation) (*contract.Program, error)
}

var (
	_ bench.Bench   = (*Bench)(nil)
	_ bench.Checker = (*Bench)(nil)
)

// session is one run in progress. What it opened is closed in the opposite order, however the run ends.
type session struct {
	bench    *Bench
	job      *bench.Job
	clock    *packetio.Clock // of this goroutine; others that use base have their own
	base     int64           // time zero of clock, CLOCK_MONOTONIC
	topology *Topology
	legs     []*leg             // of the path, from A to B
	acts     *drive.Box         // what stands in the path, for its attributes; nil when nothing does
	relays   *packetio.Reserved // the processor of the relays; nil when they have none
	apart    map[string]*child  // what was started apart, by the label of its namespace
	ends     [2]*party          // nil where a device stands
	foreign  *foreign           // the device; nil is none
	passive  *foreign           // the device at the other end; nil is none
	box      *party             // nil without one
	events   []*os.File         // what these processes report
	ailing   chan error         // of links and taps that have ended
	epoch    vtime.Time         // time zero of the run on clock
	wall     time.Time          // the same on the wall clock
	cut      vtime.Time         // where the trace ends, on the clock of the run
	before   *[2]probed
	after    *[2]probed
	evidence *bench.Evidence
	closers  []func() error
}

// Check implements bench.Checker.
func (b *Bench) Check(job *bench.Job) error {
	if err := Privileged(); err != nil {
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
	_, _, err := chooseLink(job)
	return err
}

// boxOf builds the box of a job, to find out whether it can be built and how it acts; nil without one. It never sees a frame.
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

// Run implements bench.Bench. Once packets have been seen they are judged, whatever ends the run; the first error is
// returned, and those that follow from it are not.
func (b *Bench) Run(ctx context.Context, job *bench.Job) (ev *bench.Evidence, err error) {
	s := &session{bench: b, job: job, evidence: &bench.Evidence{}}
	defer func() {
		if closeErr := s.close(); err == nil {
			err = closeErr
		}
	}()
	if err := s.steps(ctx, step{"starting containers", s.startApart}, step{"building the network", s.build}, step{"measuring the link", s.probeBefore},
		step{"starting endpoints", s.startParties}, step{"watching the ports", s.watch}); err != nil {
		return s.evidence, err
	}
	err = s.steps(ctx, step{"running", s.traffic})
	if haltErr := s.halt(); err == nil {
		err = haltErr
	}
	if err == nil {
		err = s.steps(ctx, step{"checking memory", s.verify}, step{"measuring the link again", s.probeAfter})
	}
	s.progress(1, "merging the captures")
	if mergeErr := s.merge(err == nil); err == nil {
		err = mergeErr
	}
	s.certify()
	return s.evidence, err
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

// interrupted is the error of a run that was told to end.
func interrupted(ctx context.Context) error {
	return fmt.Errorf("netns: interrupted: %w", context.Cause(ctx))
}

func (s *session) progress(share float64, what string) {
	if s.job.Progress != nil {
		s.job.Progress(share, what)
	}
}

// later registers what must be undone.
func (s *session) later(f func() error) { s.closers = append(s.closers, f) }

func (s *session) close() error {
	var first error
	for i := len(s.closers) - 1; i >= 0; i-- {
		first = cmp.Or(first, s.closers[i]())
	}
	s.closers = nil
	return first
}

// fact notes something about the machine for the report.
func (s *session) fact(name, value string) {
	s.evidence.Environment = append(s.evidence.Environment, [2]string{name, value})
}

// build makes the namespaces and the link.
func (s *session) build(context.Context) (err error) {
	s.base = packetio.Monotonic()
	s.clock = packetio.NewClock(s.base)
	netem, why, err := chooseLink(s.job)
	if err != nil {
		return err
	}
	s.evidence.Notes = append(s.evidence.Notes, "link: "+why)
	s.fact("link", linkName(netem))
	s.fact("kernel", kernel())
	s.fact("processors", fmt.Sprint(runtime.NumCPU()))
	wan := lastHop(s.job)
	s.topology, err = Open(Options{Box: s.acts != nil, Bridge: netem && !wan.relayed(s.job.Spec), Name: s.bench.Expose,
		Janitor: s.bench.janitor, Own: s.bench.own(), Of: s.homes()})
	if err != nil {
		return cmp.Or(s.died(), err)
	}
	s.later(s.topology.Close)
	if err := s.introduce(); err != nil {
		return err
	}
	return s.buildLegs(netem)
}

// own says which end is in the namespace of this process.
func (b *Bench) own() (own [2]bool) {
	if b.Device != nil {
		own[b.Device.Side] = true
		own[b.Device.Side.Other()] = b.Device.Peer != nil
	}
	return own
}

// kernel returns the release of the running kernel.
func kernel() string {
	var name unix.Utsname
	if unix.Uname(&name) != nil {
		return "unknown"
	}
	return unix.ByteSliceToString(name.Release[:])
}

// janitor is the command of the process that removes names when this one dies.
func (b *Bench) janitor(names []string) *exec.Cmd {
	return exec.Command(b.Self, append([]string{"process", "janitor"}, names...)...)
}

func (s *session) probeBefore(ctx context.Context) (err error) {
	s.before, err = s.probe(ctx)
	return err
}

func (s *session) probeAfter(ctx context.Context) (err error) {
	s.after, err = s.probe(ctx)
	return err
}

// attempts is how often an idle link is measured: a host that stood still during the first measurement says nothing about
// the link.
const attempts = 3

// probe measures the link of the Spec while it loses nothing. The LAN of a box is a cable in all but name, faster than this
// host can send: it is judged by what it did to the traffic.
func (s *session) probe(ctx context.Context) (*[2]probed, error) {
	for _, l := range s.legs {
		if err := l.chain.quiet(); err != nil {
			return nil, err
		}
	}
	for n := 1; ; n++ {
		p, err := measure(ctx, s.wan(), s.clock, s.job.Spec)
		if err != nil || n == attempts || certify.Certify("", certify.DefaultBounds(), s.unloaded(p)...).Valid {
			return p, err
		}
	}
}

// scratch makes a file that has no name, so that nothing is left of it however the run ends.
func (s *session) scratch(what string) (*os.File, error) {
	f, err := os.OpenFile(os.TempDir(), unix.O_TMPFILE|os.O_RDWR, 0o600)
	if err != nil { // a file system without unnamed files
		if f, err = os.CreateTemp("", "gauntlet-"+what+"-*"); err == nil {
			err = os.Remove(f.Name())
		}
	}
	if err != nil {
		return nil, fmt.Errorf("netns: scratch file for %s in %s: %w; free some space or set TMPDIR", what, os.TempDir(), errors.Unwrap(err))
	}
	s.later(f.Close)
	return f, nil
}

// reachable is a path by which processes of this user can open a file of this process that has no name.
func reachable(f *os.File) string { return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), f.Fd()) }
