package netns

import (
	"context"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/child"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/plan"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// containers are the programs that run apart, by the label of their namespace.
type containers map[string]*child.Child

// startContainers starts the programs that run in containers, before there is a network: each container brings the
// namespace into which its devices are put.
func (s *session) startContainers(ctx context.Context) (err error) {
	if s.acts, err = boxOf(s.job); err != nil || s.bench.Apart == nil {
		return err
	}
	s.containers = containers{}
	for _, r := range []struct {
		label, role string
		side        trace.Side
		wanted      bool
	}{
		{"A", plan.RoleEndpoint, trace.A, !s.bench.devices()[trace.A]},
		{"B", plan.RoleEndpoint, trace.B, !s.bench.devices()[trace.B]},
		{"X", plan.RoleBox, trace.A, s.acts != nil},
	} {
		impl := &s.job.Impls[r.side]
		if !r.wanted || scenario.PartyOf(impl.Name).Program != "" {
			continue
		}
		p, err := s.bench.Apart(ctx, r.role, impl)
		if err != nil {
			return err
		}
		c := child.Adopt(r.role, p)
		s.later(c.Close)
		s.containers[r.label] = c
		s.fact(r.role+" "+r.label, "container of "+p.Name)
	}
	return nil
}

// died returns the error of a container that has ended, so that its namespace cannot be used. A program under test is
// responsible for the end of its container.
func (s *session) died() error {
	for _, side := range []trace.Side{trace.A, trace.B} {
		p := s.containers[side.String()]
		if p == nil || p.Lives() {
			continue
		}
		err := p.Death("in a container ended at once")
		if fault := faultOf(side, &s.job.Impls[side]); fault != nil {
			return fault(err)
		}
		return err
	}
	if p := s.containers["X"]; p != nil && !p.Lives() {
		return p.Death("in a container ended at once")
	}
	return nil
}

// homes returns the processes whose namespaces exist already, by label.
func (c containers) homes() map[string]int {
	of := map[string]int{}
	for label, p := range c {
		of[label] = p.PID
	}
	return of
}
