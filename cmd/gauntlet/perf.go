package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/build"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/claims"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/conform"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/document"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/guest"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/progress"
	"github.com/rdma-gauntlet/gauntlet/perf/suite"
	"github.com/rdma-gauntlet/gauntlet/reports/html"
	"github.com/rdma-gauntlet/gauntlet/reports/markdown"
	"github.com/rdma-gauntlet/gauntlet/reports/terminal"
)

// perfFlags are the flags of perf.
type perfFlags struct {
	class, html, markdown, gobench, color string
	bench, link                           string
	targets                               []string
	jobs, seeds, attempts                 int
	confidence                            float64
	json, quiet                           bool
	guest                                 guestFlags
}

func perfCommand() *cobra.Command {
	var f perfFlags
	c := &cobra.Command{
		Use:   "perf",
		Short: "Hold the numbers of five papers against their models and against measurements",
		Long: `Measure the quantitative claims of five papers in virtual time, at full scale, and print them claim by claim: what the
paper says, what the model says, what was measured, and what follows.

Claims of class A (a closed form), V (virtual time) and E (emulated) gate: a measurement outside its bound is a failure.
Claims of class H (hardware) and X (undefined) are reported with the reason. Runs in which chance has a part are made with
seeds 1 to --seeds; all implementations meet the same losses under a seed.

Numbers of class E are claims scaled down to what real packets can follow. With --bench netns they are measured there too, one
run after the other, and the gap between virtual time and real packets is printed. Both have to keep the bound. A run whose
link was not what it should be is made again, --attempts times in all; after that its number is an ERROR.

A busy machine cannot emulate a link in real time. With --bench lab --deterministic everything runs in a guest that counts
instructions instead of time: real packets through a real kernel, and the same numbers on any machine, however slow.`,
		Example: `  gauntlet perf
  gauntlet perf --class A,V --json > new.json
  gauntlet perf --target PT-LW-05,PT-FS --seeds 12
  gauntlet perf --class E --bench netns --seeds 2
  gauntlet perf --class E --bench lab --deterministic --seeds 1 --target PT-DI,PT-LW-17
  gauntlet perf compare old.json new.json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return f.execute(c) },
	}
	d := c.Flags()
	d.StringVar(&f.class, "class", "A,V,E,H,X", "classes of claims, separated by commas")
	d.StringSliceVar(&f.targets, "target", nil, "claims, such as PT-LW-05, or families, such as PT-LW")
	d.IntVar(&f.jobs, "jobs", runtime.GOMAXPROCS(0), "runs at once")
	d.IntVar(&f.seeds, "seeds", 6, "seeds of a run in which chance has a part")
	d.Float64Var(&f.confidence, "confidence", 0.95, "of the intervals")
	d.BoolVar(&f.json, "json", false, jsonHelp)
	d.StringVar(&f.html, "html", "", "also write a page to this file")
	d.StringVar(&f.markdown, "markdown", "", "also write a markdown table to this file")
	d.StringVar(&f.gobench, "gobench", "", "also write Go's benchmark format, which benchstat reads, to this file")
	d.BoolVar(&f.quiet, "quiet", false, "no progress")
	d.StringVar(&f.bench, "bench", "sim", "where to measure class E besides: sim (nowhere), netns, or lab (netns in a guest)")
	d.StringVar(&f.link, "link", "auto", "netns, lab: auto, netem (the kernel's) or relay (user space)")
	d.IntVar(&f.attempts, "attempts", conform.Attempts, "netns, lab: runs of a Spec until one has a valid link; other outcomes are not repeated")
	d.StringVar(&f.color, "color", "auto", "colours: auto (on a terminal), always or never")
	f.guest.define(c)
	complete(c, "bench", "sim", "netns", "lab")
	completeChoices(c, "color", "link")
	c.AddCommand(perfCompareCommand())
	return c
}

// execute measures and prints.
func (f *perfFlags) execute(c *cobra.Command) error {
	o, err := f.options(c)
	if err != nil {
		return usage(err)
	}
	if guest.Elsewhere(f.bench) {
		return f.guest.again(c.Context(), 1, nil, given(f.html, f.markdown, f.gobench))
	}
	specs, err := o.Specs()
	if err == nil {
		err = claims.EnoughMemory(specs, f.jobs)
	}
	if err != nil {
		return usage(fmt.Errorf("perf: %w", err))
	}
	bar := progress.New(os.Stderr, !f.quiet)
	o.Progress = bar.Show
	if f.bench != "sim" {
		real := claims.Bench{Name: f.bench, Link: f.link, Attempts: f.attempts}
		if o.Real, err = real.Real(bar.Restart, bar.Show); err != nil {
			return err
		}
	}
	m, err := suite.Measure(c.Context(), *o)
	bar.Done()
	if err != nil {
		return usage(err)
	}
	m.Version, m.Commit, m.Command, m.Bench = build.Version(), build.Commit(), commandLine(), "sim"
	return f.conclude(c.Context(), m)
}

// options reads the flags.
func (f *perfFlags) options(c *cobra.Command) (*suite.Options, error) {
	if err := oneOf(c, "color", "link"); err != nil {
		return nil, err
	}
	if f.bench != "sim" && f.bench != "netns" && f.bench != "lab" {
		return nil, fmt.Errorf("--bench %q: want sim, netns or lab", f.bench)
	}
	if err := onBench(c, f.bench); err != nil {
		return nil, err
	}
	switch {
	case f.jobs < 1 || f.attempts < 1:
		return nil, fmt.Errorf("--jobs %d, --attempts %d: want 1 or more", f.jobs, f.attempts)
	case !(f.confidence > 0.5 && f.confidence < 1):
		return nil, fmt.Errorf("--confidence %g: want more than 0.5 and less than 1, such as 0.95", f.confidence)
	}
	selected, err := claims.Select(f.class, f.targets)
	if err != nil {
		return nil, err
	}
	return &suite.Options{Targets: selected, Seeds: f.seeds, Jobs: f.jobs, Confidence: f.confidence, Accounts: claims.Accounts(), Run: claims.Measure, Cost: claims.Cost}, nil
}

// conclude writes the files, prints the table and turns the status into an exit code.
func (f *perfFlags) conclude(ctx context.Context, m *suite.Result) error {
	var errs []error
	for _, out := range []struct {
		path  string
		write func(io.Writer, *suite.Result) error
	}{{f.html, html.Perf}, {f.markdown, markdown.Perf}, {f.gobench, claims.GoBench}} {
		if out.path != "" {
			errs = append(errs, document.File(out.path, func(w io.Writer) error { return out.write(w, m) }))
		}
	}
	switch err := errors.Join(append(errs, show(m, f.json, f.color, terminal.Perf))...); {
	case err != nil:
		return broken(err)
	case ctx.Err() != nil:
		return exit{exitBroken, "perf: interrupted"}
	}
	switch m.Status {
	case suite.Broken:
		return exit{code: exitFailure}
	case suite.Open, suite.Unknown:
		return exit{code: exitBroken}
	}
	return nil
}
