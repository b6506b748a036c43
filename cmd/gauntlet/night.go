package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/build"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/document"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/night"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/progress"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/units"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
	"github.com/rdma-gauntlet/gauntlet/reports/terminal"
)

func nightCommand() *cobra.Command {
	var o night.Options
	var output outputFlags
	var part shardFlags
	c := &cobra.Command{
		Use:   "night PLAN",
		Short: "Run a plan, add its measurements to a store, and report changes since earlier nights",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, files []string) error {
			if err := oneOf(c, "color"); err != nil {
				return usage(err)
			}
			o.Path = files[0]
			return runNight(c, o, &part, &output)
		},
	}
	d := c.Flags()
	d.StringVar(&o.Folder, "out", "", "report folder (default: a new one below runs/)")
	d.StringVar(&o.Night, "night", "", "day that the night is of, such as 2026-11-24 (default: today, UTC)")
	d.StringVar(
		&o.Commit,
		"commit",
		"",
		"commit that is measured (default: the one checked out where the plan is, or without a subject "+
			"that of this program)",
	)
	part.define(c)
	output.define(c, "no progress")
	return c
}

// runNight runs a plan, and derives the exit code from the changes.
func runNight(c *cobra.Command, o night.Options, part *shardFlags, output *outputFlags) (err error) {
	ctx := c.Context()
	if o.Plan, err = night.ReadPlan(o.Path); err != nil {
		return usage(err)
	}
	named := o.Folder != ""
	o.Folder, o.Command = document.NewFolder(o.Folder, "night"), build.CommandLine()
	if err := part.open(); err != nil {
		return usage(err)
	}
	if part.folder != nil {
		if ended, err := keepNight(c, &o, part, output); ended || err != nil {
			return err
		}
	}
	if !named { // another night may begin in the same second
		if o.Folder, err = document.Claim(o.Folder); err != nil {
			return broken(fmt.Errorf("night: %w", err))
		}
	}
	s, err := night.New(ctx, o)
	if err != nil {
		return err
	}
	if err := s.Open(); err != nil {
		return err
	}
	bar := progress.New(os.Stderr, !output.quiet)
	n, wrong := s.Run(ctx, bar.Show)
	bar.Done()
	if n == nil {
		return wrong
	}
	pages := s.Site(context.WithoutCancel(ctx)) // first, because it adds notes to the night
	err = errors.Join(night.Write(n), show(n, output, terminal.Night))
	if err != nil {
		err = fmt.Errorf("night: %s: %w", filepath.Clean(n.Folder), err)
	}
	if err := errors.Join(err, pages); err != nil {
		return broken(err)
	}
	if wrong != nil {
		return wrong
	}
	if code := model.ExitCode(n.Status); code != 0 {
		return exit{code: code}
	}
	return nil
}

// keepNight begins a night whose results are stored. If the command is a shard, it also makes the results of the shard,
// and reports that the command has ended.
func keepNight(c *cobra.Command, o *night.Options, part *shardFlags, output *outputFlags) (ended bool, err error) {
	all, steps, err := o.Whole()
	if err != nil {
		return false, err
	}
	o.Kept, o.Units = part.folder, part.folders
	if err := part.begin(c, all); err != nil {
		return false, err
	}
	if part.name == "" {
		return false, nil
	}
	bar := progress.New(os.Stderr, !output.quiet)
	if part.before, err = o.Divide(c.Context(), part.name, part.folders[0], part.costs, bar.Show); err != nil {
		return true, err
	}
	s, err := night.New(c.Context(), *o)
	if err != nil {
		return true, err
	}
	part.costs = "" // only the commands that divide their own runs use the costs
	one := func(ctx context.Context, i int) (any, error) { return s.Make(ctx, steps[i]) }
	return true, part.make(c.Context(), all, units.Work{Jobs: 1, Make: one}, bar)
}
