package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/build"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/claims"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/conform"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/guest"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/progress"
	"github.com/rdma-gauntlet/gauntlet/perf/suite"
	"github.com/rdma-gauntlet/gauntlet/reports/terminal"
)

// perfFlags are the flags of perf.
type perfFlags struct {
	claims                  claims.Claims
	html, markdown, gobench string
	output                  outputFlags
	guest                   guestFlags
	shard                   shardFlags
}

func perfCommand() *cobra.Command {
	var f perfFlags
	c := &cobra.Command{
		Use:   "perf",
		Short: "Compare the numbers of five papers with their models and with measurements",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return f.execute(c) },
	}
	d, n := c.Flags(), &f.claims
	d.StringVar(&n.Classes, "class", "A,V,E,H,X", "classes of claims, separated by commas")
	d.StringSliceVar(&n.Names, "target", nil, "claims, such as PT-LW-05, or families, such as PT-LW")
	d.IntVar(&n.Seeds, "seeds", 6, "seeds of each run that depends on chance")
	effortFlags(c, &n.Effort)
	d.StringVar(&f.html, "html", "", "also write a page to this file")
	d.StringVar(&f.markdown, "markdown", "", "also write a markdown table to this file")
	d.StringVar(&f.gobench, "gobench", "", "also write Go's benchmark format, which benchstat reads, to this file")
	d.StringVar(&n.Bench.Name, "bench", "sim", "where to measure class E as well, or the classes of --class if E is "+
		"not among them: sim (nowhere), netns, or lab (netns in a guest)")
	d.DurationVar(&n.Budget, "budget", 0, "netns, lab: measure there for this long at most in all, such as 1h, "+
		"the shortest first; 0 is no limit")
	d.DurationVar(&n.Longest, "longest", 0, "netns, lab: cut the runs there that last for a given time to this length of "+
		"it, such as 2s, and compare them with runs in virtual time that are cut alike; 0 cuts none")
	d.StringVar(&n.Link, "link", "auto", "netns, lab: "+linkHelp)
	dilateFlag(c, &n.Dilate)
	d.IntVar(&n.Attempts, "attempts", conform.Attempts,
		"netns, lab: how often a Spec is run at most until its link is valid; other outcomes are not repeated")
	f.shard.define(c)
	f.output.define(c, "no progress")
	f.guest.Define(c)
	complete(c, "bench", "sim", "netns", "lab")
	completeChoices(c, "link")
	c.AddCommand(perfCompareCommand())
	return c
}

// execute measures the claims and prints them.
func (f *perfFlags) execute(c *cobra.Command) error {
	if err := f.shard.open(); err != nil {
		return err
	}
	f.claims.Kept = f.shard.folder
	o, err := f.options(c)
	if err != nil {
		return usage(err)
	}
	if guest.Elsewhere(f.claims.Bench.Name) {
		return f.guest.again(c.Context(), 1, nil, given(f.html, f.markdown, f.gobench))
	}
	specs, err := f.claims.Check(o)
	if err != nil {
		return err
	}
	bar := progress.New(os.Stderr, !f.output.quiet)
	if ended, err := f.shard.numbers(c, specs, f.claims.Jobs, bar); ended || err != nil {
		return err
	}
	if err := f.claims.Plan(o, bar); err != nil {
		return err
	}
	m, err := suite.Measure(c.Context(), *o)
	bar.Done()
	if err != nil {
		return usage(err)
	}
	m.Version, m.Commit, m.Command, m.Bench = build.Version(), build.Commit(), build.CommandLine(), "sim"
	f.shard.provenance(&m.Command, &m.Started, &m.Wall)
	return f.conclude(c.Context(), m)
}

// options reads the flags into the options of a measurement.
func (f *perfFlags) options(c *cobra.Command) (*suite.Options, error) {
	bench := f.claims.Bench.Name
	if bench != "sim" && bench != "netns" && bench != "lab" {
		return nil, fmt.Errorf("--bench %q: want sim, netns or lab", bench)
	}
	if err := onBench(c, bench, "color", "link"); err != nil {
		return nil, err
	}
	if (f.claims.Budget != 0 || f.claims.Longest != 0) && bench == "sim" {
		return nil, errors.New("--budget, --longest: mean nothing on the sim bench; add --bench netns or leave them out")
	}
	switch {
	case bench != "sim" && f.shard.name != "":
		return nil, fmt.Errorf("--bench %s, --shard: the packets of one machine carry the numbers of one result; leave "+
			"one out", bench)
	case bench == "lab" && len(f.shard.folders) > 0:
		return nil, errors.New("--bench lab, --units: a guest has no folder of this machine; leave one out")
	}
	return f.claims.Options()
}

// conclude writes the files, prints the table and derives the exit code from the status.
func (f *perfFlags) conclude(ctx context.Context, m *suite.Result) error {
	err := errors.Join(claims.WritePerf(m, f.html, f.markdown, f.gobench), show(m, &f.output, terminal.Perf))
	switch {
	case err != nil:
		return broken(err)
	case ctx.Err() != nil:
		return exit{exitBroken, "perf: interrupted"}
	case m.Status == suite.Broken:
		return exit{code: exitFailure}
	case m.Status == suite.Open || m.Status == suite.Unknown:
		return exit{code: exitBroken}
	}
	return nil
}
