// Package batch makes the runs that several measurements share: each scenario and seed once, several at a time. The
// caller provides the function that makes a run; the package knows no bench.
package batch

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/perf/targets"
)

// Options say how to make runs.
type Options struct {
	Seeds int // runs of a scenario with random events: seeds 1 to Seeds
	Jobs  int // concurrent runs
	// InOrder makes runs in the order in which they were added, so that after an interrupt the first ones are complete.
	// Otherwise the longest are first, which takes the least time.
	InOrder bool

	// Run makes one run in virtual time. Its result must depend on the Spec only.
	Run func(context.Context, *scenario.Spec) (targets.Run, error)
	// Cost returns the amount of work of a run, in any unit.
	Cost func(*scenario.Spec) float64
	// Progress is called after each run with the share of the work that is done, never concurrently. It may be nil.
	Progress func(share float64, what string)
}

// NotRun is the trouble of runs that an interrupt left out, in the results of the users of a batch.
const NotRun = "not run"

// MostSeeds bounds Options.Seeds.
const MostSeeds = 1000

// Batch is the runs that a set of measurements needs.
type Batch struct {
	options Options
	jobs    []*job
	runs    map[string][]*job  // by scenario, then seed
	prices  map[string]float64 // cost of each scenario that was asked for
	random  map[string]bool    // scenarios in which chance has a part

	mu   sync.Mutex
	done float64 // cost of the runs that have ended
}

// job is one run.
type job struct {
	spec   *scenario.Spec
	cost   float64
	result targets.Run
	err    error
}

// New returns a batch without runs.
func New(o Options) (*Batch, error) {
	if o.Seeds < 1 || o.Seeds > MostSeeds {
		return nil, fmt.Errorf("%d seeds; want 1 to %d", o.Seeds, MostSeeds)
	}
	return &Batch{options: o, runs: map[string][]*job{}, random: map[string]bool{}, prices: map[string]float64{}}, nil
}

// Add adds the runs of one scenario, with several seeds where they differ. A scenario is added only once.
func (b *Batch) Add(text string) error {
	if b.runs[text] != nil {
		return nil
	}
	jobs, random, err := b.plan(text)
	if err == nil {
		b.jobs, b.runs[text], b.random[text] = append(b.jobs, jobs...), jobs, random
	}
	return err
}

// plan is the runs of a scenario, and whether chance has a part in them.
func (b *Batch) plan(text string) (jobs []*job, random bool, err error) {
	seeds := 1
	for seed := 1; seed <= seeds; seed++ {
		s, err := targets.Parse(text)
		if err != nil {
			return nil, false, err
		}
		if targets.Random(s) {
			seeds, random = b.options.Seeds, true
		}
		s.Seed = uint64(seed)
		jobs = append(jobs, &job{spec: s, cost: b.options.Cost(s)})
	}
	return jobs, random, nil
}

// Price returns the cost that these scenarios would add to all runs.
func (b *Batch) Price(texts []string) (cost float64, err error) {
	for i, text := range texts {
		if b.runs[text] != nil || slices.Contains(texts[:i], text) {
			continue
		}
		price, known := b.prices[text]
		if !known {
			jobs, _, err := b.plan(text)
			if err != nil {
				return 0, err
			}
			for _, j := range jobs {
				price += j.cost
			}
			b.prices[text] = price
		}
		cost += price
	}
	return cost, nil
}

// Specs returns the Specs of all runs, for callers that need their number or size.
func (b *Batch) Specs() []*scenario.Spec {
	out := make([]*scenario.Spec, len(b.jobs))
	for i, j := range b.jobs {
		out[i] = j.spec
	}
	return out
}

// Seeds returns the number of seeds of a scenario, 0 when it was not added, and whether its runs have random events.
func (b *Batch) Seeds(text string) (n int, random bool) { return len(b.runs[text]), b.random[text] }

// Run makes all runs, Jobs at a time. The error of a run is in its own results, and does not end the others. Without
// InOrder the longest begin first, so that none of them runs alone at the end, while the other processors are idle.
func (b *Batch) Run(ctx context.Context) {
	order := slices.Clone(b.jobs)
	if !b.options.InOrder {
		slices.SortStableFunc(order, func(x, y *job) int { return cmp.Compare(y.cost, x.cost) })
	}
	total := 0.0
	for _, j := range order {
		total += j.cost
	}
	var group errgroup.Group
	group.SetLimit(max(1, b.options.Jobs))
	for _, j := range order {
		group.Go(func() error {
			if j.err = ctx.Err(); j.err == nil {
				j.result, j.err = b.options.Run(ctx, j.spec)
			}
			b.ended(j, total)
			return nil
		})
	}
	_ = group.Wait() // no job returns an error
}

// ended counts a run and reports the progress.
func (b *Batch) ended(j *job, total float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.done += j.cost
	if b.options.Progress != nil {
		b.options.Progress(b.done/total, fmt.Sprintf("%s, seed %d", j.spec.Impl[0], j.spec.Seed))
	}
}

// Results returns the runs of the scenarios with a seed, counted from 0. A scenario without random events has one run
// for all seeds.
func (b *Batch) Results(texts []string, seed int) ([]targets.Run, error) {
	var out []targets.Run
	for _, text := range texts {
		jobs := b.runs[text]
		if len(jobs) == 0 {
			return nil, fmt.Errorf("scenario %.60q: not among the runs", text)
		}
		j := jobs[min(seed, len(jobs)-1)]
		if j.err != nil {
			return nil, fmt.Errorf("%s, seed %d: %w", j.spec.Impl[0], j.spec.Seed, j.err)
		}
		out = append(out, j.result)
	}
	return out, nil
}

// Values computes a metric from the runs of the scenarios, a value for each seed; random reports random events.
func (b *Batch) Values(m *targets.Metric, texts []string) (values []float64, random bool, err error) {
	seeds := 1
	for _, text := range texts {
		n, chance := b.Seeds(text)
		seeds, random = max(seeds, n), random || chance
	}
	for seed := range seeds {
		runs, err := b.Results(texts, seed)
		if err != nil {
			return nil, random, err
		}
		values = append(values, m.Of(runs))
	}
	return values, random, nil
}
