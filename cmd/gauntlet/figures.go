package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/build"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/claims"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/document"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/listing"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/progress"
	"github.com/rdma-gauntlet/gauntlet/perf/figures"
	"github.com/rdma-gauntlet/gauntlet/perf/targets"
)

// figuresFlags are the flags of figures.
type figuresFlags struct {
	out               string
	effort            claims.Effort
	list, json, quiet bool
	shard             shardFlags
}

func figuresCommand() *cobra.Command {
	var f figuresFlags
	c := &cobra.Command{
		Use:       "figures [ID…]",
		Short:     "Draw the figures of five papers again: their values, the models and measurements",
		ValidArgs: listing.FigureIDs(),
		RunE:      func(c *cobra.Command, args []string) error { return f.execute(c, args) },
	}
	d := c.Flags()
	d.StringVar(&f.out, "out", "", "folder of the figures (default: a new one below runs/)")
	d.IntVar(&f.effort.Seeds, "seeds", 4, "seeds of each run that depends on chance")
	effortFlags(c, &f.effort)
	f.shard.define(c)
	d.BoolVar(&f.list, "list", false, "list the figures and run nothing")
	d.BoolVar(&f.json, "json", false, jsonHelp)
	d.BoolVar(&f.quiet, "quiet", false, "no progress")
	return c
}

// execute measures the figures and writes them.
func (f *figuresFlags) execute(c *cobra.Command, ids []string) error {
	wanted, err := targets.FindFigures(ids)
	if err != nil {
		return usage(err)
	}
	if f.list {
		return listing.Figures(stdout, wanted)
	}
	if err := f.shard.open(); err != nil {
		return err
	}
	f.effort.Kept = f.shard.folder
	bar := progress.New(os.Stderr, !f.quiet)
	plan, err := claims.Figures(wanted, f.effort, bar.Show)
	if err != nil {
		return usage(err)
	}
	if ended, err := f.shard.numbers(c, plan.Runs().Specs(), f.effort.Jobs, bar); ended || err != nil {
		return err
	}
	bar.Say(fmt.Sprintf("%d figures, %d runs, %d at once", len(wanted), len(plan.Runs().Specs()), f.effort.Jobs))
	m := plan.Measure(c.Context())
	bar.Done()
	m.Version, m.Commit, m.Command = build.Version(), build.Commit(), build.CommandLine()
	f.shard.provenance(&m.Command, &m.Started, &m.Wall)
	return f.conclude(c.Context(), m)
}

// conclude writes the files, prints their paths, and returns the error for the exit code.
func (f *figuresFlags) conclude(ctx context.Context, m *figures.Set) error {
	dir := document.NewFolder(f.out, "figures")
	err := claims.WriteFigures(dir, m)
	reasons, missing := m.Troubles()
	if f.json {
		err = errors.Join(err, document.JSON(stdout, m))
	} else {
		fmt.Printf("%d figures from %d runs%s: %s\n", len(m.Figures), m.Runs, lasted(m.Wall),
			filepath.Join(dir, "figures.html"))
	}
	switch {
	case err != nil:
		return broken(err)
	case ctx.Err() != nil:
		return exit{exitBroken, fmt.Sprintf("figures: interrupted, %d points were not run", missing)}
	case missing > 0:
		return exit{exitBroken, fmt.Sprintf("figures: %d points have no number: %s", missing,
			strings.Join(reasons, "; "))}
	}
	return nil
}
