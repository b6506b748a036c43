package netns

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/packetio"
)

// Bench runs a Spec with real packets between network namespaces on this host.
type Bench struct {
	Self   string // the binary that knows the hidden commands "process endpoint", "process relay" and "process janitor"
	Expose string // names the namespaces while the run lasts; "" leaves them anonymous
}

var _ bench.Bench = (*Bench)(nil)

// session is one run in progress. What it opened is closed in the opposite order, however the run ends.
type session struct {
	bench    *Bench
	job      *bench.Job
	clock    *packetio.Clock
	base     int64 // time zero of clock, CLOCK_MONOTONIC
	topology *Topology
	link     link
	taps     [2]*tap
	ends     [2]*endpoint
	events   [2]*os.File // what the endpoints report
	epoch    vtime.Time  // time zero of the run on clock
	wall     time.Time   // the same on the wall clock
	elapsed  vtime.Time  // length of the run
	before   [2]probed
	after    [2]probed
	dropped  [2]uint64
	lead     linkReport // of the traffic
	census   *census
	evidence *bench.Evidence
	closers  []func() error
}

// Run implements bench.Bench.
func (b *Bench) Run(ctx context.Context, job *bench.Job) (ev *bench.Evidence, err error) {
	s := &session{bench: b, job: job, evidence: &bench.Evidence{}}
	defer func() { err = errors.Join(err, s.close()) }()
	for _, step := range []struct {
		what string
		do   func(context.Context) error
	}{
		{"building the network", s.build},
		{"measuring the link", s.probeBefore},
		{"starting endpoints", s.startEndpoints},
		{"running", s.traffic},
		{"checking memory", s.verify},
		{"measuring the link again", s.probeAfter},
		{"merging the captures", s.merge},
	} {
		if err := ctx.Err(); err != nil {
			return s.evidence, context.Cause(ctx)
		}
		s.progress(0, step.what)
		if err := step.do(ctx); err != nil {
			return s.evidence, err
		}
	}
	s.certify()
	return s.evidence, nil
}

func (s *session) progress(share float64, what string) {
	if s.job.Progress != nil {
		s.job.Progress(share, what)
	}
}

// later registers what must be undone.
func (s *session) later(f func() error) { s.closers = append(s.closers, f) }

func (s *session) close() error {
	var errs []error
	for i := len(s.closers) - 1; i >= 0; i-- {
		errs = append(errs, s.closers[i]())
	}
	s.closers = nil
	return errors.Join(errs...)
}

// build makes the namespaces and the link.
func (s *session) build(context.Context) (err error) {
	s.base = packetio.Monotonic()
	s.clock = packetio.NewClock(s.base)
	kind, why, err := chooseLink(s.job)
	if err != nil {
		return err
	}
	s.evidence.Notes = append(s.evidence.Notes, "link: "+why)
	s.evidence.Environment = append(s.evidence.Environment, [2]string{"link", string(kind)})
	s.topology, err = Open(Options{Bridge: kind == netemLink, Name: s.bench.Expose, Janitor: s.bench.janitor})
	if err != nil {
		return err
	}
	s.later(s.topology.Close)
	if kind == netemLink {
		s.link = &kernelLink{session: s}
	} else {
		s.link = &relayLink{session: s}
	}
	return s.link.open()
}

// janitor is the command of the process that removes names when this one dies.
func (b *Bench) janitor(names []string) *exec.Cmd {
	return exec.Command(b.Self, append([]string{"process", "janitor"}, names...)...)
}

func (s *session) probeBefore(context.Context) (err error) {
	if err := s.link.quiet(); err != nil {
		return err
	}
	s.before, err = s.probe()
	return err
}

func (s *session) probeAfter(context.Context) (err error) {
	if err := s.link.quiet(); err != nil {
		return err
	}
	s.after, err = s.probe()
	return err
}

func (s *session) probe() ([2]probed, error) {
	sp := s.job.Spec
	return measure(s.topology, s.clock, sp.QP[0].MTU, [2]unit.Rate{sp.Link.AB.Rate, sp.Link.BA.Rate}, sp.RTT())
}

// startEndpoints starts both processes; they wait for their start time.
func (s *session) startEndpoints(context.Context) error {
	for side, n := range []*Namespace{s.topology.A, s.topology.B} {
		var err error
		if s.events[side], err = s.scratch("events"); err != nil {
			return err
		}
		e, err := s.bench.startEndpoint(s.topology, n, setup{Version: protocolVersion, Side: uint8(side), Device: []string{DeviceA, DeviceB}[side],
			Spec: s.job.Spec.String(), Events: reachable(s.events[side])})
		if err != nil {
			return err
		}
		s.ends[side] = e
		s.later(e.close)
	}
	return nil
}

// scratch makes a file that has no name any more, so that nothing is left of it however the run ends.
func (s *session) scratch(what string) (*os.File, error) {
	f, err := os.CreateTemp("", "gauntlet-"+what+"-*")
	if err != nil {
		return nil, fmt.Errorf("netns: scratch file for %s: %w; free some space or set TMPDIR", what, err)
	}
	s.later(f.Close)
	if err := os.Remove(f.Name()); err != nil {
		return nil, fmt.Errorf("netns: scratch file for %s: %w", what, err)
	}
	return f, nil
}

// reachable is a path by which processes of this user can open a file of this process that has no name.
func reachable(f *os.File) string { return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), f.Fd()) }

// startDelay leaves the processes time to be ready when the run begins.
const startDelay = 100 * vtime.Millisecond

// traffic opens the taps, lets the run begin, and waits until its work is done or its time is over.
func (s *session) traffic(ctx context.Context) error {
	for side, n := range []*Namespace{s.topology.A, s.topology.B} {
		file, err := s.scratch("spool")
		if err != nil {
			return err
		}
		if s.taps[side], err = openTap(n, trace.Side(side), []string{DeviceA, DeviceB}[side], s.clock, file); err != nil {
			return err
		}
	}
	s.epoch = s.clock.Now().Add(startDelay)
	s.wall = time.Now().Add(s.epoch.Sub(s.clock.Now()).Std())
	if err := s.link.loud(s.epoch); err != nil {
		return err
	}
	for _, e := range s.ends {
		if err := e.orders.Encode(order{Op: opStart, Start: s.base + int64(s.epoch)/int64(vtime.Nanosecond)}); err != nil {
			return fmt.Errorf("netns: %s: %w%s", e.name, err, e.stderr.last())
		}
	}
	err := s.await(ctx)
	return errors.Join(err, s.halt())
}

// await returns when both sides are idle and what they sent has had time to arrive, when the time of the Spec is over, or
// with an error.
func (s *session) await(ctx context.Context) error {
	spec := s.job.Spec
	over := s.epoch.Add(min(spec.Limit, vtime.Duration(maxRun)))
	if spec.For > 0 {
		over = s.epoch.Add(spec.For)
	}
	settle := vtime.Never
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if s.ends[0].idle && s.ends[1].idle && spec.For == 0 && settle == vtime.Never {
			settle = s.clock.Now().Add(spec.RTT() + 50*vtime.Millisecond)
		}
		now := s.clock.Now()
		switch {
		case now >= settle:
			return nil
		case now >= over && spec.For > 0:
			return nil
		case now >= over:
			s.evidence.Incomplete = fmt.Sprintf("the work was not done within the limit of %s", spec.Limit)
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case a, ok := <-s.ends[0].answers:
			if err := s.ends[0].heard(a, ok); err != nil {
				return err
			}
		case a, ok := <-s.ends[1].answers:
			if err := s.ends[1].heard(a, ok); err != nil {
				return err
			}
		case <-tick.C:
			s.progress(s.share(now), fmt.Sprintf("running for %s", now.Sub(s.epoch).Std().Round(100*time.Millisecond)))
		}
	}
}

// maxRun bounds a run in real time, whatever the Spec says.
const maxRun = 24 * 3600 * vtime.Second

// heard takes an answer that came while the run went on.
func (e *endpoint) heard(a answer, ok bool) error {
	if !ok {
		return fmt.Errorf("netns: %s ended in the middle of the run%s", e.name, e.stderr.last())
	}
	_, err := e.note(a)
	return err
}

func (s *session) share(now vtime.Time) float64 {
	if f := s.job.Spec.For; f > 0 {
		return float64(now-s.epoch) / float64(f)
	}
	return min(s.ends[0].share, s.ends[1].share)
}

// halt stops both endpoints, lets the link drain, and closes the taps.
func (s *session) halt() error {
	s.elapsed = s.clock.Now() - s.epoch
	var errs []error
	for _, e := range s.ends {
		a, err := e.order(order{Op: opStop}, saysStopped)
		e.end = a
		errs = append(errs, err)
	}
	time.Sleep((s.job.Spec.RTT() + 20*vtime.Millisecond).Std())
	report, err := s.link.report()
	s.lead = report
	errs = append(errs, err)
	for side, t := range s.taps {
		dropped, err := t.close()
		s.dropped[side] = dropped
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// verify lets each side compare its memory with what the other posted.
func (s *session) verify(context.Context) error {
	for side, e := range s.ends {
		if e.end.Pending > 0 && s.job.Spec.For == 0 && s.evidence.Incomplete == "" {
			s.evidence.Incomplete = fmt.Sprintf("%d requests of %s never completed", e.end.Pending, e.side)
		}
		s.evidence.Counters = append(s.evidence.Counters, counters(e)...)
		if _, err := e.order(order{Op: opVerify, Work: s.ends[1-side].end.Work}, saysVerified); err != nil {
			return err
		}
	}
	return nil
}
