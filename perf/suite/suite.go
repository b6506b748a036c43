// Package suite measures the targets of package targets and compares them with their bounds.
//
// Targets share runs: the go-back-N of one row is the baseline of the next. So the suite first collects the runs that
// its targets need, makes them as one batch, and then computes all numbers from them.
package suite

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/perf/batch"
	"github.com/rdma-gauntlet/gauntlet/perf/stats"
	"github.com/rdma-gauntlet/gauntlet/perf/targets"
)

// Options selects the measurements.
type Options struct {
	Targets    []targets.Target
	Seeds      int     // of a run in which chance has a part: 1 to Seeds
	Jobs       int     // runs at once
	Confidence float64 // of the intervals
	Accounts   map[string]float64

	// Run makes one run in virtual time. Its result must depend on the Spec only.
	Run func(context.Context, *scenario.Spec) (targets.Run, error)
	// Cost returns the amount of work of a run, in any unit.
	Cost func(*scenario.Spec) float64
	// Progress is called after each run with the share of the work that is done, never concurrently.
	Progress func(share float64, what string)

	// Real repeats the runs of some classes with real packets; nil for virtual time only.
	Real *Real
}

// Real is a bench in real time. It makes one run at a time, because runs share the clock of the machine.
type Real struct {
	Bench   string          // its name
	Classes []targets.Class // classes of the numbers that are measured on that bench
	Budget  float64         // total cost of the runs, spent on the cheapest number first; 0 is without limit
	// length to which timed runs are cut, there and in virtual time beside; 0 is without limit
	Longest  vtime.Duration
	Run      func(context.Context, *scenario.Spec) (targets.Run, error)
	Cost     func(*scenario.Spec) float64
	Progress func(share float64, what string)
}

// Measure makes the runs of the targets and checks the results. The result is complete even when ctx ends: a number
// that was not run is an ERROR with that reason.
func Measure(ctx context.Context, o Options) (*Result, error) {
	started := time.Now()
	p, err := newPlan(&o)
	if err != nil {
		return nil, err
	}
	p.runs.Run(ctx)
	m := &Result{Format: FormatVersion, Started: started.UTC().Format(time.RFC3339), Confidence: o.Confidence,
		Runs: len(p.runs.Specs())}
	if p.real != nil {
		p.real.Run(ctx)
		m.Emulated, m.RealRuns, m.LeftOut = o.Real.Bench, len(p.real.Specs()), p.leftOut
	}
	for i := range o.Targets {
		m.Claims = append(m.Claims, p.claim(&o.Targets[i]))
	}
	m.Settle()
	m.Wall = time.Since(started).Seconds()
	return m, nil
}

// Specs returns the Specs of the runs that the options ask for, for callers that need their size beforehand.
func (o *Options) Specs() ([]*scenario.Spec, error) {
	p, err := newPlan(o)
	if err != nil {
		return nil, err
	}
	return p.runs.Specs(), nil
}

// plan is the runs that a set of targets needs.
type plan struct {
	options  *Options
	runs     *batch.Batch
	real     *batch.Batch // nil when all is left to virtual time
	emulated []*targets.Check
	cuts     map[*targets.Check][]string // the scenarios of those that are cut, in their cut form
	leftOut  int                         // numbers that the budget of the real bench does not reach
}

// newPlan lists the runs.
func newPlan(o *Options) (p *plan, err error) {
	p = &plan{options: o}
	p.runs, err = batch.New(batch.Options{Seeds: o.Seeds, Jobs: o.Jobs, Run: o.Run, Cost: o.Cost, Progress: o.Progress})
	if r := o.Real; err == nil && r != nil {
		p.real, err = batch.New(
			batch.Options{Seeds: o.Seeds, Jobs: 1, InOrder: true, Run: r.Run, Cost: r.Cost, Progress: r.Progress})
	}
	if err == nil {
		err = targets.Validate(o.Targets)
	}
	if err != nil {
		return nil, err
	}
	for i := range o.Targets {
		t := &o.Targets[i]
		for k := range t.Checks {
			c := &t.Checks[k]
			if err := add(p.runs, c.Runs); err != nil {
				return nil, err
			}
			if p.real != nil && len(c.Runs) > 0 && slices.Contains(o.Real.Classes, t.ClassOf(c)) {
				p.emulated = append(p.emulated, c)
			}
		}
	}
	return p, p.afford()
}

// add adds the runs of some scenarios.
func add(b *batch.Batch, texts []string) error {
	for _, text := range texts {
		if err := b.Add(text); err != nil {
			return err
		}
	}
	return nil
}

// afford adds the runs of the real bench, as far as its budget allows: it takes the cheapest remaining check in each
// step, whose price depends on the runs that earlier ones have added. Without a budget it takes the checks in the order
// of the claims, so that the first are complete after an interrupt.
func (p *plan) afford() error {
	if p.real == nil {
		return nil
	}
	wanted, left := p.emulated, p.options.Real.Budget
	p.emulated, p.cuts = nil, map[*targets.Check][]string{}
	for _, c := range wanted {
		if err := p.cut(c); err != nil {
			return err
		}
	}
	for len(wanted) > 0 {
		at := 0
		if p.options.Real.Budget > 0 {
			cheapest, price, err := p.cheapest(wanted)
			if left -= price; err != nil || left < 0 {
				p.leftOut = len(wanted)
				return err
			}
			at = cheapest
		}
		if err := p.take(wanted[at]); err != nil {
			return err
		}
		p.emulated, wanted = append(p.emulated, wanted[at]), slices.Delete(wanted, at, at+1)
	}
	return nil
}

// take adds the runs of a check to those of the real bench, and to those in virtual time what they are compared with.
func (p *plan) take(c *targets.Check) error {
	if err := add(p.real, p.texts(c)); err != nil {
		return err
	}
	return add(p.runs, p.cuts[c])
}

// cut makes the cut form of the scenarios of a check if one of them lasts longer than the real bench allows. A run that
// ends with its work is not cut: its number is of all its messages.
func (p *plan) cut(c *targets.Check) error {
	longest, over := p.options.Real.Longest, false
	texts := slices.Clone(c.Runs)
	for i, text := range texts {
		s, err := targets.Parse(text)
		if err != nil {
			return err
		}
		if longest > 0 && s.For > longest {
			texts[i], over = fmt.Sprintf("%s\nrun for=%s", text, longest), true
		}
	}
	if over {
		p.cuts[c] = texts
	}
	return nil
}

// texts returns the scenarios of a check on the real bench.
func (p *plan) texts(c *targets.Check) []string {
	if cut := p.cuts[c]; cut != nil {
		return cut
	}
	return c.Runs
}

// cheapest returns the check that adds the least to the cost of the real bench, and this cost.
func (p *plan) cheapest(checks []*targets.Check) (at int, price float64, err error) {
	for i, c := range checks {
		cost, err := p.real.Price(p.texts(c))
		if err != nil {
			return 0, 0, err
		}
		if i == 0 || cost < price {
			at, price = i, cost
		}
	}
	return at, price, nil
}

// claim computes and checks the numbers of one target.
func (p *plan) claim(t *targets.Target) Claim {
	c := Claim{ID: t.ID, Source: t.Source, Claim: t.Claim, Reason: t.Reason}
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

// measured computes one number and checks it.
func (p *plan) measured(t *targets.Target, c *targets.Check) Measured {
	m := Measured{Name: c.Name, Class: string(t.ClassOf(c)), Metric: c.Metric.Name, Unit: c.Metric.Unit,
		LowerIsBetter: c.Metric.LowerIsBetter, Paper: known(c.Paper), Model: known(c.Model),
		Low: known(c.Bound.Low), High: known(c.Bound.High), Scenarios: c.Runs}
	values, err := p.values(c, &m)
	var e stats.Estimate
	if err == nil {
		e, err = stats.Mean(values, p.options.Confidence)
	}
	if err != nil {
		m.Status, m.Trouble = Unknown, err.Error()
		return m
	}
	m.Values, m.Estimate = values, &e
	m.Status, m.Finding = verdict(e, &m, c, t.ClassOf(c)), finding(e.Value, c)
	if slices.Contains(p.emulated, c) {
		p.emulate(c, &m)
	}
	return m
}

// emulate adds the real runs of a check to m: their number, and its difference from virtual time, seed by seed, because
// the same seed has the same losses. The number must keep the same bound, unless its runs are cut: the bound is for
// whole ones.
func (p *plan) emulate(c *targets.Check, m *Measured) {
	values, _, err := p.real.Values(&c.Metric, p.texts(c))
	var e, gap stats.Estimate
	if err == nil {
		e, err = stats.Mean(values, p.options.Confidence)
	}
	virtual := m.Values
	if err == nil && p.cuts[c] != nil {
		m.Cut, err = p.shortened(c)
	}
	if m.Cut != nil {
		virtual = m.Cut.Values
	}
	if err == nil {
		gap, err = stats.Mean(gaps(values, virtual), p.options.Confidence)
	}
	if err != nil {
		m.Status, m.Trouble, m.RealTrouble = Unknown, p.options.Real.Bench+": "+err.Error(), err.Error()
		return
	}
	m.RealValues, m.Real, m.Gap, m.RealMade = values, &e, &gap, p.made(c)
	if m.Cut == nil {
		m.Status = Worse(m.Status, verdict(e, m, c, targets.Emulated))
	}
}

// shortened returns the number of the cut runs of a check in virtual time.
func (p *plan) shortened(c *targets.Check) (*Cut, error) {
	values, _, err := p.runs.Values(&c.Metric, p.cuts[c])
	if err != nil {
		return nil, fmt.Errorf("in virtual time: %w", err)
	}
	e, err := stats.Mean(values, p.options.Confidence)
	return &Cut{p.options.Real.Longest.String(), values, &e}, err
}

// made lists how the real runs of a check were made, all of whose results are there.
func (p *plan) made(c *targets.Check) (list []targets.Made) {
	for _, text := range p.texts(c) {
		n, _ := p.real.Seeds(text)
		for seed := range n {
			if r, err := p.real.Results([]string{text}, seed); err == nil {
				list = append(list, r[0].Made)
			}
		}
	}
	return list
}

// gaps returns the relative difference of each real number from that of the same seed in virtual time. A virtual run
// without random events is compared with every seed.
func gaps(real, virtual []float64) []float64 {
	out := make([]float64, len(real))
	for seed := range real {
		out[seed] = real[seed]/virtual[min(seed, len(virtual)-1)] - 1
	}
	return out
}

// values returns the numbers of a check: one for each seed, or the single one of a check without runs.
func (p *plan) values(c *targets.Check, m *Measured) ([]float64, error) {
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

// verdict compares an estimate with the bound. One run with random events does not prove a failure.
func verdict(e stats.Estimate, m *Measured, c *targets.Check, class targets.Class) string {
	switch {
	case !class.Gates():
		return Reported
	case c.Bound.Holds(e.Value):
		return Holds
	case m.Random && e.N == 1, e.High >= c.Bound.Low && e.Low <= c.Bound.High:
		return Open
	}
	return Broken
}

// rounding is the relative difference within which a paper's number and ours count as the same: papers print two
// digits.
const rounding = 0.05

// finding compares the paper's number with ours: they are the same, or both are within the bound.
func finding(x float64, c *targets.Check) string {
	switch {
	case c.Paper == 0:
		return ""
	case math.Abs(x/c.Paper-1) <= rounding, c.Bound.Holds(x) && c.Bound.Holds(c.Paper):
		return Reproduced
	}
	return NotReproduced
}

// known returns nil for 0, which means no number, and for infinities, which JSON cannot represent.
func known(x float64) *float64 {
	if x == 0 || math.IsInf(x, 0) {
		return nil
	}
	return &x
}

// Select keeps the checks of the given classes in each target, and targets without checks by their own class.
func Select(all []targets.Target, classes []targets.Class) []targets.Target {
	var out []targets.Target
	for _, t := range all {
		checks := slices.DeleteFunc(slices.Clone(t.Checks), func(c targets.Check) bool {
			return !slices.Contains(classes, t.ClassOf(&c))
		})
		if len(checks) > 0 || len(t.Checks) == 0 && slices.Contains(classes, t.Class) {
			t.Checks = checks
			out = append(out, t)
		}
	}
	return out
}
