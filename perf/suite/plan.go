package suite

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

// plan is the runs that a set of targets needs.
type plan struct {
	options *Options
	jobs    []*job
	runs    map[string][]*job // by scenario, then seed
	random  map[string]bool   // scenarios in which chance has a part

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

// newPlan lists the runs, each once.
func newPlan(o *Options) (*plan, error) {
	if o.Seeds < 1 || o.Seeds > MostSeeds {
		return nil, fmt.Errorf("perf: %d seeds; want 1 to %d", o.Seeds, MostSeeds)
	}
	if err := targets.Validate(o.Targets); err != nil {
		return nil, fmt.Errorf("perf: %w", err)
	}
	p := &plan{options: o, runs: map[string][]*job{}, random: map[string]bool{}}
	for i := range o.Targets {
		for _, c := range o.Targets[i].Checks {
			for _, text := range c.Runs {
				if err := p.add(text); err != nil {
					return nil, err
				}
			}
		}
	}
	return p, nil
}

// add lists the runs of one scenario: several seeds where they differ.
func (p *plan) add(text string) error {
	if p.runs[text] != nil {
		return nil
	}
	seeds := 1
	for seed := 1; seed <= seeds; seed++ {
		s, err := targets.Parse(text)
		if err != nil {
			return err
		}
		if targets.Random(s) {
			seeds, p.random[text] = p.options.Seeds, true
		}
		s.Seed = uint64(seed)
		j := &job{spec: s, cost: p.options.Cost(s)}
		p.jobs, p.runs[text] = append(p.jobs, j), append(p.runs[text], j)
	}
	return nil
}

// run makes all runs, so many at once. A broken one does not end the others: it is an ERROR of its rows alone. The longest
// begin first, so that none of them is left for the end, when the other processors have nothing to do.
func (p *plan) run(ctx context.Context) {
	order := slices.Clone(p.jobs)
	slices.SortStableFunc(order, func(a, b *job) int { return cmp.Compare(b.cost, a.cost) })
	total := 0.0
	for _, j := range order {
		total += j.cost
	}
	var group errgroup.Group
	group.SetLimit(max(1, p.options.Jobs))
	for _, j := range order {
		group.Go(func() error {
			if j.err = ctx.Err(); j.err == nil {
				j.result, j.err = p.options.Run(ctx, j.spec)
			}
			p.ended(j, total)
			return nil
		})
	}
	_ = group.Wait() // no job returns an error
}

// ended counts a run and reports the progress.
func (p *plan) ended(j *job, total float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done += j.cost
	if p.options.Progress != nil {
		p.options.Progress(p.done/total, fmt.Sprintf("%s, seed %d", j.spec.Impl[0], j.spec.Seed))
	}
}

// results returns the runs of the scenarios under a seed, counted from 0. One in which chance has no part stands for all
// seeds.
func (p *plan) results(texts []string, seed int) ([]targets.Run, error) {
	var out []targets.Run
	for _, text := range texts {
		jobs := p.runs[text]
		j := jobs[min(seed, len(jobs)-1)]
		if j.err != nil {
			return nil, fmt.Errorf("%s, seed %d: %w", j.spec.Impl[0], j.spec.Seed, j.err)
		}
		out = append(out, j.result)
	}
	return out, nil
}
