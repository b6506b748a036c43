// Package suite measures the targets of package targets and holds them against their bounds.
//
// Targets share runs: the go-back-N of one row is the baseline of the next. So the suite first lists the runs that its
// targets need, makes them as one batch, and then reads every number off them.
package suite

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/perf/batch"
	"github.com/rdma-gauntlet/gauntlet/perf/stats"
	"github.com/rdma-gauntlet/gauntlet/perf/targets"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// Options say what to measure.
type Options struct {
	Targets    []targets.Target
	Seeds      int     // of a run in which chance has a part: 1 to Seeds
	Jobs       int     // runs at once
	Confidence float64 // of the intervals
	Accounts   map[string]float64

	// Run makes one run in virtual time. Its result depends on the Spec alone.
	Run func(context.Context, *scenario.Spec) (targets.Run, error)
	// Cost is how much work a run is, in any unit.
	Cost func(*scenario.Spec) float64
	// Progress is called after each run with the share of the work that is done, and never twice at once.
	Progress func(share float64, what string)
}

// Measure runs what the targets need and judges them. The result is complete also when ctx ends: what was not run is an
// ERROR that says so.
func Measure(ctx context.Context, o Options) (*model.Perf, error) {
	started := time.Now()
	p, err := newPlan(&o)
	if err != nil {
		return nil, err
	}
	p.runs.Run(ctx)
	m := &model.Perf{Format: model.FormatVersion, Started: started.UTC().Format(time.RFC3339), Confidence: o.Confidence, Runs: len(p.runs.Specs())}
	for i := range o.Targets {
		m.Claims = append(m.Claims, p.claim(&o.Targets[i]))
	}
	m.Settle()
	m.Wall = time.Since(started).Seconds()
	return m, nil
}

// Specs returns the Specs of the runs that the options ask for, for whoever must know their size beforehand.
func (o *Options) Specs() ([]*scenario.Spec, error) {
	p, err := newPlan(o)
	if err != nil {
		return nil, err
	}
	return p.runs.Specs(), nil
}

// plan is the runs that a set of targets needs.
type plan struct {
	options *Options
	runs    *batch.Batch
}

// newPlan lists the runs.
func newPlan(o *Options) (*plan, error) {
	b, err := batch.New(batch.Options{Seeds: o.Seeds, Jobs: o.Jobs, Run: o.Run, Cost: o.Cost, Progress: o.Progress})
	if err == nil {
		err = targets.Validate(o.Targets)
	}
	if err != nil {
		return nil, err
	}
	for i := range o.Targets {
		for _, c := range o.Targets[i].Checks {
			for _, text := range c.Runs {
				if err := b.Add(text); err != nil {
					return nil, err
				}
			}
		}
	}
	return &plan{options: o, runs: b}, nil
}

// claim judges the checks of one target.
func (p *plan) claim(t *targets.Target) model.Claim {
	c := model.Claim{ID: t.ID, Source: t.Source, Claim: t.Claim, Reason: t.Reason}
	var letters []string
	for _, class := range t.Classes() {
		letters = append(letters, string(class))
	}
	c.Class = strings.Join(letters, ",")
	for i := range t.Checks {
		c.Measured = append(c.Measured, p.measured(t, &t.Checks[i]))
	}
	c.Settle()
	return c
}

// measured reads one number and judges it.
func (p *plan) measured(t *targets.Target, c *targets.Check) model.Measured {
	m := model.Measured{Name: c.Name, Class: string(t.ClassOf(c)), Metric: c.Metric.Name, Unit: c.Metric.Unit, LowerIsBetter: c.Metric.LowerIsBetter,
		Paper: known(c.Paper), Model: known(c.Model), Low: known(c.Bound.Low), High: known(c.Bound.High), Scenarios: c.Runs}
	values, err := p.values(c, &m)
	var e stats.Estimate
	if err == nil {
		e, err = stats.Mean(values, p.options.Confidence)
	}
	if err != nil {
		m.Status, m.Trouble = model.Unknown, err.Error()
		return m
	}
	m.Values, m.Estimate = values, &e
	m.Status, m.Finding = verdict(e, &m, c, t.ClassOf(c)), finding(e.Value, c)
	return m
}

// values returns the numbers of a check: one for each seed, or the one that needs no run.
func (p *plan) values(c *targets.Check, m *model.Measured) ([]float64, error) {
	switch {
	case c.Account != "":
		x, ok := p.options.Accounts[c.Account]
		if !ok {
			return nil, fmt.Errorf("no account %q", c.Account)
		}
		return []float64{x}, nil
	case len(c.Runs) == 0:
		return []float64{c.Model}, nil
	}
	values, random, err := p.runs.Values(&c.Metric, c.Runs)
	m.Random = random
	for seed := range values {
		m.Seeds = append(m.Seeds, uint64(seed+1))
	}
	return values, err
}

// verdict holds an estimate against the bound. One run in which chance has a part is no proof of a failure.
func verdict(e stats.Estimate, m *model.Measured, c *targets.Check, class targets.Class) string {
	switch {
	case !class.Gates():
		return model.Reported
	case c.Bound.Holds(e.Value):
		return model.Holds
	case m.Random && e.N == 1, e.High >= c.Bound.Low && e.Low <= c.Bound.High:
		return model.Open
	}
	return model.Broken
}

// rounding is by how much a paper's number may differ from ours and still be taken for the same: they print two digits.
const rounding = 0.05

// finding says what became of the paper's number: ours is the same, or both are what the bound asks for.
func finding(x float64, c *targets.Check) string {
	switch {
	case c.Paper == 0:
		return ""
	case math.Abs(x/c.Paper-1) <= rounding, c.Bound.Holds(x) && c.Bound.Holds(c.Paper):
		return model.Reproduced
	}
	return model.NotReproduced
}

// known is nil for what there is not: JSON has neither infinities nor an absent number.
func known(x float64) *float64 {
	if x == 0 || math.IsInf(x, 0) {
		return nil
	}
	return &x
}

// Select keeps the targets that have a class among those wanted.
func Select(all []targets.Target, classes []targets.Class) []targets.Target {
	return slices.DeleteFunc(slices.Clone(all), func(t targets.Target) bool {
		return !slices.ContainsFunc(t.Classes(), func(c targets.Class) bool { return slices.Contains(classes, c) })
	})
}
