package claims

import (
	"context"
	"fmt"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/fault"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/units"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/perf/atlas"
	"github.com/rdma-gauntlet/gauntlet/perf/batch"
	"github.com/rdma-gauntlet/gauntlet/perf/figures"
	"github.com/rdma-gauntlet/gauntlet/perf/suite"
	"github.com/rdma-gauntlet/gauntlet/perf/targets"
)

// Effort says from how many runs numbers are taken, and with which confidence.
type Effort struct {
	Seeds      int     // of each run that depends on chance
	Jobs       int     // runs that are made at once
	Confidence float64 // of the intervals

	// Kept stores the results of runs, those with real packets too. A stored result is used in place of a run, and a
	// new one is stored. May be nil.
	Kept *units.Folder
}

// check checks the jobs and the confidence. The packages below perf check the seeds, because they know which numbers
// need any.
func (e *Effort) check() error {
	switch {
	case e.Jobs < 1:
		return fmt.Errorf("--jobs %d: want 1 or more", e.Jobs)
	case !e.sure():
		return fmt.Errorf("--confidence %g: want more than 0.5 and less than 1, such as 0.95", e.Confidence)
	}
	return nil
}

func (e *Effort) sure() bool { return e.Confidence > 0.5 && e.Confidence < 1 }

// batch returns how the runs are made. It calls show with the share of them done.
func (e *Effort) batch(show func(share float64, what string)) batch.Options {
	return batch.Options{Seeds: e.Seeds, Jobs: e.Jobs, Run: e.measure, Cost: Cost, Progress: show}
}

// measure makes a run, or returns its stored result.
func (e *Effort) measure(ctx context.Context, s *scenario.Spec) (targets.Run, error) {
	if e.Kept == nil {
		return Measure(ctx, s)
	}
	r, err := units.Kept(e.Kept, workOf(s), func() (*record, error) { return recorded(ctx, s) })
	if err != nil {
		return targets.Run{Spec: s}, err
	}
	return r.run()
}

// Atlas plans the map of a grid. A relative difference in goodput below margin is tolerated. It calls show with the
// share of the runs done. The error is the user's: a mistake in the text, or more runs at once than the memory of the
// machine allows.
func Atlas(g *Grid, e Effort, margin float64, show func(share float64, what string)) (*atlas.Plan, error) {
	switch {
	case e.Jobs < 1:
		return nil, e.check()
	case !e.sure() || !(margin >= 0 && margin < 1):
		return nil, fmt.Errorf("--confidence %g, --margin %g: want 0.5 to 1, such as 0.95, and 0 to 1, such as 0.02",
			e.Confidence, margin)
	}
	o, err := g.Options()
	if err != nil {
		return nil, err
	}
	o.Confidence, o.Margin, o.Batch = e.Confidence, margin, e.batch(show)
	plan, err := atlas.New(o)
	if err != nil {
		return nil, err
	}
	return plan, enough("atlas", plan.Runs().Specs(), e.Jobs)
}

// Figures plans some figures. Show and the error are as in Atlas.
func Figures(wanted []targets.Figure, e Effort, show func(share float64, what string)) (*figures.Plan, error) {
	if err := e.check(); err != nil {
		return nil, err
	}
	plan, err := figures.New(
		figures.Options{Figures: wanted, Confidence: e.Confidence, Accounts: MemoryByQPs(), Batch: e.batch(show)})
	if err != nil {
		return nil, err
	}
	return plan, enough("figures", plan.Runs().Specs(), e.Jobs)
}

// Claims says which claims of the papers are measured, on which bench and with which effort.
type Claims struct {
	Classes string   // such as "A,V"
	Names   []string // of claims, such as PT-LW-05, or of families, such as PT-LW; none for all
	Effort
	Bench // measures class E, or the classes asked for if E is not among them; the name "sim" stands for none
}

// Options selects the claims. The error is the user's.
func (c *Claims) Options() (*suite.Options, error) {
	if c.Jobs < 1 || c.Attempts < 1 || c.Budget < 0 || c.Longest < 0 {
		return nil, fmt.Errorf("--jobs %d, --attempts %d, --budget %s, --longest %s: want 1, 1, 0 and 0 or more", c.Jobs,
			c.Attempts, c.Budget, c.Longest)
	}
	if err := c.check(); err != nil {
		return nil, err
	}
	selected, err := Select(c.Classes, c.Names)
	if err != nil {
		return nil, err
	}
	return &suite.Options{Targets: selected, Seeds: c.Seeds, Jobs: c.Jobs, Confidence: c.Confidence,
		Accounts: Accounts(), Run: c.measure, Cost: Cost}, nil
}

// Check returns the runs of the options, after a check that the machine has memory for them. The error is the user's.
func (c *Claims) Check(o *suite.Options) ([]*scenario.Spec, error) {
	specs, err := o.Specs()
	if err != nil {
		return nil, fault.Usage(fmt.Errorf("perf: %w", err))
	}
	return specs, fault.Usage(enough("perf", specs, c.Jobs))
}

// Plan opens the bench, if there is one, and has the progress of the runs displayed.
func (c *Claims) Plan(o *suite.Options, d Display) (err error) {
	o.Progress = d.Show
	if c.Bench.Name != "sim" {
		if o.Real, err = c.Real(c.besides(), d); err == nil {
			o.Real.Run = c.keptReal(o.Real.Run)
		}
	}
	return err
}

// besides returns the classes that are measured on the bench too.
func (c *Claims) besides() []targets.Class {
	classes, err := targets.ParseClasses(c.Classes)
	if err != nil || slices.Contains(classes, targets.Emulated) {
		return []targets.Class{targets.Emulated}
	}
	return classes
}

// enough returns an error when the runs made at once need more memory than the machine has.
func enough(command string, specs []*scenario.Spec, jobs int) error {
	if err := EnoughMemory(specs, jobs); err != nil {
		return fmt.Errorf("%s: %w", command, err)
	}
	return nil
}
