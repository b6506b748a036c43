package conform

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/run"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/units"
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/scenarios"
	"github.com/rdma-gauntlet/gauntlet/conformance/suite"
	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
)

// record is what is kept of a scenario: its result, or why there is none.
type record struct {
	Result *suite.Result `json:"result,omitempty"`
	// of each verdict: its JSON is for people, who read it in findings
	Against     [][2]int `json:"against,omitempty"`
	Unsupported string   `json:"unsupported,omitempty"` // by the bench
}

// recorded is a result as it is kept.
func recorded(r *suite.Result) *record {
	out := &record{Result: r}
	for i := range r.Verdicts {
		out.Against = append(out.Against, r.Verdicts[i].Against)
	}
	return out
}

// result is what was kept.
func (r *record) result() (*suite.Result, error) {
	if r.Unsupported != "" {
		return nil, fmt.Errorf("%w: %s", bench.ErrUnsupported, r.Unsupported)
	}
	if r.Result == nil || len(r.Against) != len(r.Result.Verdicts) {
		return nil, errors.New("conform: what was kept of the scenario is incomplete")
	}
	for i, n := range r.Against {
		r.Result.Verdicts[i].Against = n
	}
	return r.Result, nil
}

// Divisible looks whether the scenarios can be run by several machines.
func (o *Options) Divisible() error {
	if o.Where() != "sim" || o.Folder != "" {
		return errors.New("--units keeps verdicts in virtual time: leave --bench, --dut and --out out")
	}
	return nil
}

// Units are the selected scenarios as units of work, and what runs one of them. Those that ask for what an
// implementation does not declare are none.
func (s *Session) Units() (all []units.Unit, one func(ctx context.Context, i int) (any, error)) {
	var runs []suite.Spec
	for _, x := range s.Specs {
		if sc, spec := s.scenario(x); s.Known.Lacks(spec) == "" {
			runs, all = append(runs, x), append(all, s.unit(x.Impl, sc, spec))
		}
	}
	return all, func(ctx context.Context, i int) (any, error) {
		sc, spec := s.scenario(runs[i])
		ctx, cancel := context.WithTimeout(ctx, suite.DefaultTimeout)
		defer cancel()
		return s.made(ctx, runs[i].Impl, sc, spec)
	}
}

// scenario finds a scenario that was selected, and its Spec, which was parsed before.
func (s *Session) scenario(x suite.Spec) (*scenarios.Scenario, *scenario.Spec) {
	i := slices.IndexFunc(s.Scenarios, func(sc scenarios.Scenario) bool { return sc.Name == x.Scenario })
	spec, _ := s.Scenarios[i].Spec()
	spec.Impl = [2]string{x.Impl, cmp.Or(s.Peer, x.Impl)}
	return &s.Scenarios[i], spec
}

// unit is a scenario as a unit of work.
func (s *Session) unit(impl string, sc *scenarios.Scenario, spec *scenario.Spec) units.Unit {
	waived, _ := json.Marshal(rule.WaivedIn(sc.Name, s.Waived)) // text alone
	return units.New("scenario", impl+" "+sc.Name, run.ExpectedPackets(spec),
		impl, s.Peer, sc.Name, spec.String(), s.Limit.String(), string(waived))
}

// made runs a scenario for its result alone. What an interrupt ended or the harness broke is no result.
func (s *Session) made(ctx context.Context, impl string, sc *scenarios.Scenario, spec *scenario.Spec) (*record, error) {
	r, err := s.run(ctx, impl, sc, spec)
	switch {
	case errors.Is(err, bench.ErrUnsupported):
		return &record{Unsupported: err.Error()}, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, err
	}
	return recorded(run.ForSuite(r)), nil
}

// kept is the result of a scenario as it was kept, or as it is run.
func (s *Session) kept(ctx context.Context, impl string, sc *scenarios.Scenario,
	spec *scenario.Spec) (*suite.Result, error) {
	if s.Kept == nil {
		r, err := s.run(ctx, impl, sc, spec)
		return run.ForSuite(r), err
	}
	r, err := units.Kept(s.Kept, s.unit(impl, sc, spec), func() (*record, error) { return s.made(ctx, impl, sc, spec) })
	if err != nil {
		return nil, err
	}
	return r.result()
}
