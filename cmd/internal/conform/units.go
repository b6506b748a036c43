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
	"github.com/rdma-gauntlet/gauntlet/conformance/scenarios"
	"github.com/rdma-gauntlet/gauntlet/conformance/suite"
	"github.com/rdma-gauntlet/gauntlet/conformance/waivers"
	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
)

// record is the stored form of a scenario's result, or the reason why there is none.
type record struct {
	Result *suite.Result `json:"result,omitempty"`
	// of each verdict: its JSON, made for people, leaves the count out
	Against     [][2]int `json:"against,omitempty"`
	Unsupported string   `json:"unsupported,omitempty"` // set when the bench cannot run the scenario
}

// recorded returns the stored form of a result.
func recorded(r *suite.Result) *record {
	out := &record{Result: r}
	for i := range r.Verdicts {
		out.Against = append(out.Against, r.Verdicts[i].Against)
	}
	return out
}

// result returns the stored result.
func (r *record) result() (*suite.Result, error) {
	if r.Unsupported != "" {
		return nil, fmt.Errorf("%w: %s", bench.ErrUnsupported, r.Unsupported)
	}
	if r.Result == nil || len(r.Against) != len(r.Result.Verdicts) {
		return nil, errors.New("conform: the stored result of the scenario is incomplete")
	}
	for i, n := range r.Against {
		r.Result.Verdicts[i].Against = n
	}
	return r.Result, nil
}

// Divisible returns an error when the options do not allow that several machines share the scenarios.
func (o *Options) Divisible() error {
	if o.Where() != "sim" || o.Folder != "" {
		return errors.New("--units keeps verdicts in virtual time: leave --bench, --dut and --out out")
	}
	return nil
}

// Units returns the selected scenarios as units of work, and the function that runs one of them. Scenarios that need
// undeclared features are left out.
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

// scenario returns a selected scenario and its Spec, which has been parsed before.
func (s *Session) scenario(x suite.Spec) (*scenarios.Scenario, *scenario.Spec) {
	i := slices.IndexFunc(s.Scenarios, func(sc scenarios.Scenario) bool { return sc.Name == x.Scenario })
	spec, _ := s.Scenarios[i].Spec()
	spec.Impl = [2]string{x.Impl, cmp.Or(s.Peer, x.Impl)}
	return &s.Scenarios[i], spec
}

// unit returns a scenario as a unit of work.
func (s *Session) unit(impl string, sc *scenarios.Scenario, spec *scenario.Spec) units.Unit {
	waived, _ := json.Marshal(waivers.In(sc.Name, s.Waived)) // a list of plain strings cannot fail
	ends, _ := s.Known.Both(spec)                            // New has found them
	return units.New("scenario", impl+" "+sc.Name, run.ExpectedPackets(spec, ends),
		impl, s.Peer, sc.Name, spec.String(), s.Limit.String(), string(waived))
}

// made runs a scenario and returns its record. A run that was interrupted, or that the harness broke, has none.
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

// kept returns the stored result of a scenario, or runs it.
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
