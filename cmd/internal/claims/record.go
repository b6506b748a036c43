package claims

import (
	"context"
	"fmt"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/units"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/perf/metrics"
	"github.com/rdma-gauntlet/gauntlet/perf/targets"
)

// record is the stored form of a targets.Run.
type record struct {
	Spec    string             `json:"spec"` // with the attributes that the implementations chose
	Summary metrics.Summary    `json:"summary"`
	Shared  map[string]float64 `json:"shared"`
	Made    *targets.Made      `json:"made,omitempty"` // of a run with real packets
}

// recorded makes the run of a Spec and returns its record.
func recorded(ctx context.Context, s *scenario.Spec) (*record, error) {
	r, err := Measure(ctx, s)
	if err != nil {
		return nil, err
	}
	return &record{Spec: r.Spec.String(), Summary: r.Summary, Shared: r.Shared}, nil
}

// keptReal makes a run with real packets by way of the folder: a run whose result is stored is not made again. One that
// gave no number stores nothing, and is made again by the next command.
func (c *Claims) keptReal(run func(context.Context, *scenario.Spec) (targets.Run, error)) func(context.Context,
	*scenario.Spec) (targets.Run, error) {
	if c.Kept == nil {
		return run
	}
	return func(ctx context.Context, s *scenario.Spec) (targets.Run, error) {
		u := units.New("real numbers", fmt.Sprintf("%s on %s, seed %d, Spec %.12s", s.Impl[0], c.Bench.Name, s.Seed,
			s.Hash()), c.Bench.seconds(s), c.Bench.Name, c.Bench.Link, c.Bench.Dilate.String(), s.String())
		r, err := units.Kept(c.Kept, u, func() (*record, error) {
			r, err := run(ctx, s)
			if err != nil {
				return nil, err
			}
			return &record{Spec: s.String(), Summary: r.Summary, Shared: r.Shared, Made: &r.Made}, nil
		})
		if err != nil {
			return targets.Run{Spec: s}, err
		}
		return r.run()
	}
}

// run returns the stored run.
func (r *record) run() (targets.Run, error) {
	s, err := scenario.Parse(strings.NewReader(r.Spec))
	if err != nil {
		return targets.Run{}, fmt.Errorf("claims: the Spec of a run that was kept: %w", err)
	}
	out := targets.Run{Summary: r.Summary, Spec: s, Shared: r.Shared}
	if r.Made != nil {
		out.Made = *r.Made
	}
	return out, nil
}

// workOf returns the run of a Spec in virtual time as a unit of work.
func workOf(s *scenario.Spec) units.Unit {
	text := s.String()
	return units.New("numbers", fmt.Sprintf("%s, seed %d, Spec %.12s", s.Impl[0], s.Seed, s.Hash()), Cost(s), text)
}

// Units returns runs in virtual time as units of work, and the function that makes one of them.
func Units(specs []*scenario.Spec) (all []units.Unit, make func(ctx context.Context, i int) (any, error)) {
	for _, s := range specs {
		all = append(all, workOf(s))
	}
	return all, func(ctx context.Context, i int) (any, error) { return recorded(ctx, specs[i]) }
}
