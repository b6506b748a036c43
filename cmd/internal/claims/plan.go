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

// Effort is how many runs numbers are taken from, and how sure they are to be.
type Effort struct {
	Seeds      int     // of a run in which chance has a part
	Jobs       int     // runs at once
	Confidence float64 // of the intervals

	// Kept holds the results of runs in virtual time. Those that are there are not made, and what is made is put there.
	// May be nil.
	Kept *units.Folder
}

// check looks at the jobs and the confidence; the seeds are for the packages below perf to check, which know what needs
// any.
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

// batch is how the runs are made. Show hears how far they are.
func (e *Effort) batch(show func(share float64, what string)) batch.Options {
	return batch.Options{Seeds: e.Seeds, Jobs: e.Jobs, Run: e.measure, Cost: Cost, Progress: show}
}

// measure makes a run, or takes it from those that are kept.
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

// Atlas plans the map of a grid, in which a relative difference in goodput below margin does not matter. Show hears how
// far the runs are. The error is the user's: a mistake in the text, or more runs at once than the machine has memory
// for.
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

// Figures plans some figures. Show and the error are as those of Atlas.
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

// Claims says which claims of the papers are measured, where and how.
type Claims struct {
	Classes string   // such as "A,V"
	Names   []string // of claims, such as PT-LW-05, or families, such as PT-LW; none is all
	Effort
	Bench // where class E is measured besides, or what is asked for without it; the name "sim" is nowhere
}

// Options finds the claims. Its error is the user's.
func (c *Claims) Options() (*suite.Options, error) {
	if c.Jobs < 1 || c.Attempts < 1 || c.Budget < 0 {
		return nil, fmt.Errorf("--jobs %d, --attempts %d, --budget %s: want 1, 1 and 0 or more", c.Jobs,
			c.Attempts, c.Budget)
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

// Check returns the runs of the options, for which there has to be memory. The error is the user's.
func (c *Claims) Check(o *suite.Options) ([]*scenario.Spec, error) {
	specs, err := o.Specs()
	if err != nil {
		return nil, fault.Usage(fmt.Errorf("perf: %w", err))
	}
	return specs, fault.Usage(enough("perf", specs, c.Jobs))
}

// Plan opens the bench when there is one: again is called before the first run on it, and show hears how far the runs
// are.
func (c *Claims) Plan(o *suite.Options, again func(), show func(share float64, what string)) (err error) {
	o.Progress = show
	if c.Bench.Name != "sim" {
		o.Real, err = c.Real(c.besides(), again, show)
	}
	return err
}

// besides is the classes that are measured on the bench too.
func (c *Claims) besides() []targets.Class {
	classes, err := targets.ParseClasses(c.Classes)
	if err != nil || slices.Contains(classes, targets.Emulated) {
		return []targets.Class{targets.Emulated}
	}
	return classes
}

// enough refuses runs that take more memory than there is, as many as there are at once.
func enough(command string, specs []*scenario.Spec, jobs int) error {
	if err := EnoughMemory(specs, jobs); err != nil {
		return fmt.Errorf("%s: %w", command, err)
	}
	return nil
}
