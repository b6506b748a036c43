package units

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/rdma-gauntlet/gauntlet/harness/shard"
)

// Work is the work of a shard.
type Work struct {
	Part  shard.Part
	Costs map[string]float64 // seconds by Unit.Work, from other results; nil when unknown
	Jobs  int                // units that are made at once

	// Make makes the result of unit i, which must be encodable as JSON.
	Make func(ctx context.Context, i int) (any, error)
	// Progress is called after each unit with the share of the cost done. Calls are not concurrent.
	Progress func(share float64, what string)
}

// Done is the result of a shard.
type Done struct {
	Units, Found, Made, Left int
	Cost                     float64 // of the shard, relative to the mean of all shards
}

// String is the line that a shard prints, behind its name.
func (d Done) String() string { return fmt.Sprintf(printed, d.Made, d.Found) }

// printed is the form of that line.
const printed = "%d runs made, %d were there"

// Read adds what the line of a shard of another process says, which begins with the name of the shard.
func (d *Done) Read(line string) {
	var made, found int
	if _, rest, ok := strings.Cut(line, ": "); ok {
		_, _ = fmt.Sscanf(rest, printed, &made, &found) // a line that says nothing adds nothing
	}
	d.Made, d.Found = d.Made+made, d.Found+found
}

// task is a unit that this shard makes, as its own or as a check of another shard.
type task struct {
	index int
	cost  float64 // as Work.Costs or estimated
	file  string  // ending of its file
}

// Make makes those units of a shard that have no result yet, the costliest first. An error of one does not stop the
// others; the returned error names the first in the order of the units, and their number.
func (f *Folder) Make(ctx context.Context, all []Unit, w Work) (Done, error) {
	tasks, share := assign(all, &w)
	var group errgroup.Group
	group.SetLimit(max(1, w.Jobs))
	var mu sync.Mutex
	var left atomic.Int64
	errs, done, total := make([]error, len(all)), 0.0, 0.0
	for _, t := range tasks {
		total += t.cost
	}
	for _, t := range tasks {
		group.Go(func() error {
			if errs[t.index] = f.one(ctx, &all[t.index], t, &w); errs[t.index] != nil {
				left.Add(1)
			}
			mu.Lock()
			defer mu.Unlock()
			done += t.cost
			w.Progress(done/max(total, 1e-9), all[t.index].Name)
			return nil
		})
	}
	_ = group.Wait() // no task returns an error
	return Done{len(tasks), f.found, f.made, int(left.Load()), share}, failure(all, errs)
}

// one makes a unit, unless it has a result.
func (f *Folder) one(ctx context.Context, u *Unit, t task, w *Work) error {
	_, ok, err := f.get(u.Key, t.file)
	switch {
	case err != nil:
		return err
	case ok:
		f.count(&f.found)
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	_, err = keep(f, *u, t.file, func() (any, error) { return w.Make(ctx, t.index) })
	return err
}

// failure returns the error about units that could not be made.
func failure(all []Unit, errs []error) error {
	first, n := -1, 0
	for i, err := range errs {
		if err == nil || errors.Is(err, context.Canceled) {
			continue
		}
		if n++; first < 0 {
			first = i
		}
	}
	switch n {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("%s (unit %s): %w", all[first].Name, all[first].Key, errs[first])
	}
	return fmt.Errorf("%s (unit %s), and %d more: %w", all[first].Name, all[first].Key, n-1, errs[first])
}

// assign returns the tasks of a shard, the costliest first, and their cost relative to the mean of all shards.
func assign(all []Unit, w *Work) ([]task, float64) {
	costs := w.costs(all)
	items := make([]shard.Item, len(all))
	seen := map[string]bool{}
	for i := range all {
		items[i] = shard.Item{Cost: costs[i], Copies: 1}
		switch {
		case seen[all[i].Key]:
			items[i].Copies = 0
		case all[i].checked():
			items[i].Copies = 2
		}
		seen[all[i].Key] = true
	}
	var tasks []task
	mine, total := 0.0, 0.0
	for i, shards := range shard.Pack(items, w.Part.Of) {
		total += float64(len(shards)) * costs[i]
		switch slices.Index(shards, w.Part.Index) {
		case 0:
			tasks = append(tasks, task{i, costs[i], ending})
		case 1:
			tasks = append(tasks, task{i, costs[i], endingAgain})
		default:
			continue
		}
		mine += costs[i]
	}
	slices.SortStableFunc(tasks, func(a, b task) int { return cmp.Compare(b.cost, a.cost) })
	return tasks, mine * float64(w.Part.Of) / max(total, 1e-9)
}

// costs returns the cost of each unit: the time that it took before, or its estimate scaled by the ratio of time to
// estimate of the units whose time is known.
func (w *Work) costs(all []Unit) []float64 {
	estimated, taken := 0.0, 0.0
	for i := range all {
		if seconds, ok := w.Costs[all[i].Work]; ok {
			estimated, taken = estimated+all[i].Cost, taken+seconds
		}
	}
	scale := 1.0
	if estimated > 0 && taken > 0 {
		scale = taken / estimated
	}
	out := make([]float64, len(all))
	for i := range all {
		if seconds, ok := w.Costs[all[i].Work]; ok {
			out[i] = seconds
		} else {
			out[i] = all[i].Cost * scale
		}
	}
	return out
}
