package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/claims"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/progress"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/units"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/shard"
)

// shardFlags select the units of work that a command runs, and the folders of their results.
type shardFlags struct {
	name    string
	folders []string
	costs   string

	part   shard.Part    // the part that name selects
	folder *units.Folder // nil when no results are kept
	batch  *units.Batch  // nil when no results are kept
	before units.Done    // what commands of a night that divide their own runs have done
}

// define declares the flags.
func (f *shardFlags) define(c *cobra.Command) {
	d := c.Flags()
	d.StringVar(&f.name, "shard", "",
		"make only the runs of shard i of n, i/n, or of the one that the environment names, auto, and store them in "+
			"--units; see: help shard")
	d.StringArrayVar(&f.folders, "units", nil,
		"store the result of each run in this folder, and skip runs that have one; further folders are only read")
	d.StringVar(&f.costs, "costs", "",
		"divide the runs among shards by the time that those of this folder of results took (default: by an estimate)")
}

// open opens the folders of results, if there are any: results are read from all and stored in the first. An error that
// is not the harness's fault is usage.
func (f *shardFlags) open() (err error) {
	switch {
	case f.name != "" && len(f.folders) != 1:
		return fmt.Errorf("--shard %s: add --units DIR, one folder for the results of this shard", f.name)
	case f.costs != "" && f.name == "":
		return fmt.Errorf("--costs %s: means nothing without --shard", f.costs)
	case len(f.folders) == 0:
		return nil
	}
	if f.name != "" {
		if f.part, err = shard.Parse(f.name, os.Getenv); err != nil {
			return fmt.Errorf("--shard: %w", err)
		}
	}
	f.folder, err = units.OpenFolder(f.folders...)
	return err
}

// begin begins a batch of units in the folder, for this command.
func (f *shardFlags) begin(c *cobra.Command, all []units.Unit) error {
	if f.folder == nil {
		return nil
	}
	f.batch = units.NewBatch(canonical(c), all)
	return f.folder.Begin(f.batch)
}

// numbers is divide for runs that are made for their numbers.
func (f *shardFlags) numbers(c *cobra.Command, specs []*scenario.Spec, jobs int,
	bar *progress.Bar) (ended bool, err error) {
	all, one := claims.Units(specs)
	return f.divide(c, all, jobs, one, bar)
}

// divide begins a batch of units if their results are stored. If the command is a shard, it also runs the units of the
// shard, jobs at a time, and reports that the command has ended.
func (f *shardFlags) divide(c *cobra.Command, all []units.Unit, jobs int, one func(context.Context, int) (any, error),
	bar *progress.Bar) (ended bool, err error) {
	if err := f.begin(c, all); err != nil {
		return false, err
	}
	if f.name == "" {
		return false, nil
	}
	return true, f.make(c.Context(), all, units.Work{Jobs: jobs, Make: one}, bar)
}

// unchanging lists the flags that do not change a command's result, only where and how it is computed, written and
// printed.
var unchanging = []string{"shard", "units", "costs", "jobs", "out", "quiet", "color", "json", "html", "markdown",
	"gobench", "junit"}

// canonical returns words that identify the question of a command: equal questions give equal words on every machine.
func canonical(c *cobra.Command) []string {
	words := []string{c.Name()}
	c.Flags().Visit(func(f *pflag.Flag) { // by name
		if slices.Contains(unchanging, f.Name) {
			return
		}
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, v := range values {
			words = append(words, "--"+f.Name+"="+v)
		}
	})
	return append(words, c.Flags().Args()...)
}

// provenance sets the fields about the making of a result. A result made of stored results depends on these alone: it
// states neither the time and duration of the command nor the division of the work.
func (f *shardFlags) provenance(command, started *string, wall *float64) {
	if f.batch != nil {
		*command, *started, *wall = f.batch.CommandLine(), "", 0
	}
}

// lasted formats the time that a result took; "" if it is unknown.
func lasted(seconds float64) string {
	if seconds == 0 {
		return ""
	}
	return fmt.Sprintf(" in %.0f s", seconds)
}

// make runs the units of the shard, and prints how many it ran.
func (f *shardFlags) make(ctx context.Context, all []units.Unit, w units.Work, bar *progress.Bar) error {
	var err error
	if f.costs != "" {
		if w.Costs, err = units.Costs(f.costs); err != nil {
			return usage(fmt.Errorf("--costs: %w", err))
		}
	}
	if err := shard.Acknowledge(os.Getenv); err != nil {
		return broken(err)
	}
	w.Part, w.Progress = f.part, bar.Show
	done, err := f.folder.Make(ctx, all, w)
	bar.Done()
	said := fmt.Sprintf("shard %s: %s, in %s", w.Part,
		units.Done{Made: done.Made + f.before.Made, Found: done.Found + f.before.Found}, f.folders[0])
	if len(all) > 0 {
		said += fmt.Sprintf("; %.2f of a mean shard by cost", done.Cost)
	}
	fmt.Fprintln(stdout, said)
	switch {
	case err != nil:
		return broken(fmt.Errorf("shard %s: %w", w.Part, err))
	case errors.Is(ctx.Err(), context.Canceled):
		return exit{exitBroken, fmt.Sprintf("shard %s: interrupted, %d of %d runs are left; the same command goes on",
			w.Part, done.Left, done.Units)}
	}
	return nil
}
