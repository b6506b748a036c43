package gate

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/build"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/claims"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/fault"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/qualify"
	"github.com/rdma-gauntlet/gauntlet/conformance/scenarios"
	"github.com/rdma-gauntlet/gauntlet/perf/suite"
	"github.com/rdma-gauntlet/gauntlet/perf/targets"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// measuring adds the stages of numbers: on every bench the targets of the profiles; in virtual time also the links
// under many seeds, for comparison with a baseline, and the claims of papers.
func (s *Session) measuring(first *stage, links []scenarios.Scenario) error {
	o := &s.options
	if n := len(s.profile.Targets); n > 0 {
		var names []string
		for _, t := range s.profile.Targets {
			names = append(names, t.Name)
		}
		s.measure("targets", first, names, profileTargets)
	}
	if first.session.Bench != "sim" {
		return nil
	}
	compared, err := s.linkNumbers(links)
	if err != nil {
		return fault.Usage(err)
	}
	if err := s.measuringAll("numbers", first, compared); err != nil || len(o.Targets) == 0 {
		return err
	}
	claimed, err := claims.Select("A,V", o.Targets)
	if err != nil {
		return fault.Usage(err)
	}
	return s.measuringAll("claims", first, claimed)
}

// measuringAll adds a stage of targets measured in virtual time.
func (s *Session) measuringAll(name string, first *stage, wanted []targets.Target) error {
	o := &s.options
	run := suite.Options{Targets: wanted, Seeds: o.Seeds, Jobs: o.Jobs, Confidence: 0.95, Accounts: claims.Accounts(),
		Run: claims.Measure, Cost: claims.Cost}
	if _, err := run.Specs(); err != nil || len(wanted) == 0 {
		return fault.Usage(err)
	}
	s.measure(
		name,
		first,
		titles(wanted),
		func(ctx context.Context, st *stage, show func(float64, string)) (err error) {
			run.Progress = show
			st.out.Numbers, err = suite.Measure(ctx, run)
			return err
		},
	)
	return nil
}

// measure adds a stage of numbers, on the bench of the stage first.
func (s *Session) measure(name string, first *stage, numbers []string, how measuring) {
	out := s.empty(name, first.session.Bench)
	s.stages = append(s.stages, &stage{gate: s, session: first.session, out: out, numbers: numbers, measure: how})
}

// measuring measures the numbers of a stage and calls show with the share done.
type measuring func(ctx context.Context, st *stage, show func(float64, string)) error

// titles lists the titles of the numbers of targets.
func titles(list []targets.Target) (out []string) {
	for i := range list {
		for k := range list[i].Checks {
			out = append(out, list[i].Checks[k].Title())
		}
	}
	return out
}

// linkMetrics are the metrics measured on each link.
var linkMetrics = []targets.Metric{
	{Name: "goodput", Unit: "Mb/s", Runs: 1, Of: func(r []targets.Run) float64 { return r[0].GoodputBps / 1e6 }},
	{
		Name:          "FCT p99",
		Unit:          "ms",
		LowerIsBetter: true,
		Runs:          1,
		Of:            func(r []targets.Run) float64 { return float64(r[0].FCT.P99) / 1e6 },
	},
	{
		Name:          "data packets",
		LowerIsBetter: true,
		Runs:          1,
		Of:            func(r []targets.Run) float64 { return float64(r[0].DataPackets) },
	},
}

// linkID is the ID of the target whose numbers are those of the links.
const linkID = "PT-LK-01"

// linkNumbers returns the target that measures every link. Its numbers have no bound: they are only compared with the
// baseline.
func (s *Session) linkNumbers(links []scenarios.Scenario) ([]targets.Target, error) {
	if len(links) == 0 {
		return nil, nil
	}
	t := targets.Target{
		ID:     linkID,
		Source: "links of the gate",
		Claim:  "numbers over the links of the gate",
		Class:  targets.Undefined,
		Reason: "no bound: compared with the baseline",
	}
	for _, link := range links {
		spec, err := link.Spec()
		if err != nil {
			return nil, err
		}
		spec.Impl = [2]string{s.gate.Subject, s.gate.Peer}
		for _, m := range linkMetrics {
			t.Checks = append(
				t.Checks,
				targets.Check{
					Name:   link.Name + " " + m.Name,
					Metric: m,
					Runs:   []string{spec.String()},
					Bound:  targets.Bound{Low: 0, High: math.MaxFloat64},
				},
			)
		}
	}
	return []targets.Target{t}, nil
}

// profileTargets measures the targets of the profiles beside their reference.
func profileTargets(ctx context.Context, st *stage, show func(float64, string)) error {
	q := &model.Qualification{Peer: st.gate.gate.Peer}
	err := qualify.Measure(ctx, &st.gate.profile, st.session, targetSeeds, q, show)
	st.out.Numbers = q.Targets
	for _, r := range q.TargetRuns {
		st.out.Runs = append(st.out.Runs, model.GateRun{ScenarioOutcome: r})
	}
	return err
}

// targetSeeds is the number of runs per target of a profile, as in gauntlet qualify.
const targetSeeds = 3

// measured measures the numbers of a stage, and lists those that the budget left out.
func (st *stage) measured(ctx context.Context, show func(float64, string)) error {
	if why := st.gate.late(ctx); why != "" {
		st.leave(st.numbers, why)
		return nil
	}
	limited := ctx
	if o := &st.gate.options; o.Budget > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithDeadlineCause(ctx, st.gate.started.Add(o.Budget), errLate)
		defer cancel()
	}
	if err := st.measure(limited, st, show); err != nil {
		return err
	}
	if m := st.out.Numbers; m != nil {
		m.Version, m.Commit, m.Bench = build.Version(), build.Commit(), st.out.Bench
		if limited.Err() != nil {
			st.leave(unmeasured(m), st.gate.late(ctx))
		}
		st.out.SettleNumbers()
	}
	return nil
}

var errLate = errors.New("the budget was used up")

// unmeasured removes from a result the numbers that were not measured, and returns their titles.
func unmeasured(m *suite.Result) (left []string) {
	for i := range m.Claims {
		c := &m.Claims[i]
		c.Measured = slices.DeleteFunc(c.Measured, func(x suite.Measured) bool {
			if x.Status == suite.Unknown {
				left = append(left, x.Title())
			}
			return x.Status == suite.Unknown
		})
		c.Settle()
	}
	m.Settle()
	return left
}
