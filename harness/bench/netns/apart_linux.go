package netns

import (
	"context"
	"fmt"
	"os"

	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/netem/packetio"
)

// startable checks that there is a way to start both implementations.
func (b *Bench) startable(job *bench.Job) error {
	for _, impl := range job.Impls {
		if impl.Image != "" && b.Apart == nil {
			return fmt.Errorf("netns: %s is an image; want the container bench", impl.Name)
		}
	}
	return nil
}

// startApart starts what runs apart, before there is a network: each brings the namespace in which it is to find its devices.
func (s *session) startApart(ctx context.Context) (err error) {
	if s.acts, err = boxOf(s.job); err != nil || s.bench.Apart == nil {
		return err
	}
	s.apart = map[string]*child{}
	for _, r := range []struct {
		label, role string
		side        trace.Side
		wanted      bool
	}{
		{"A", "endpoint", trace.A, !s.bench.own()[trace.A]},
		{"B", "endpoint", trace.B, !s.bench.own()[trace.B]},
		{"X", "box", trace.A, s.acts != nil},
	} {
		impl := &s.job.Impls[r.side]
		if !r.wanted || impl.Program != "" {
			continue
		}
		p, err := s.bench.Apart(ctx, r.role, impl)
		if err != nil {
			return err
		}
		c := adopt(r.role, p)
		s.later(c.close)
		s.apart[r.label] = c
		s.fact(r.role+" "+r.label, "container of "+p.Name)
	}
	return nil
}

// died says that something which was started apart has ended, and why: its namespace then cannot be had.
func (s *session) died() error {
	for _, c := range s.apart {
		if _, err := os.Stat(fmt.Sprintf("/proc/%d", c.PID)); err != nil {
			return c.death("in a container ended at once")
		}
	}
	return nil
}

// homes tells whose namespaces are there already.
func (s *session) homes() map[string]int {
	of := map[string]int{}
	for label, c := range s.apart {
		of[label] = c.PID
	}
	return of
}

// program returns what does a role in a namespace: what was started apart, or a process that is started now.
func (s *session) program(n *Namespace, role string, impl *engine.Implementation) (*child, error) {
	c := s.apart[n.Label]
	if c == nil {
		return launch(s.topology, n, role, s.bench.command(role, impl))
	}
	// What this process starts inherits its processors, which leave out the relay's.
	return c, packetio.Share(c.PID)
}

// report makes the file for what the program in a namespace reports, and says how the program calls it.
func (s *session) report(n *Namespace) (events *os.File, path string, err error) {
	if c := s.apart[n.Label]; c != nil && c.Report != nil {
		if events, path, err = c.Report(); err == nil {
			s.later(events.Close)
		}
		return events, path, err
	}
	if events, err = s.scratch("events"); err == nil {
		path = reachable(events)
	}
	return events, path, err
}
