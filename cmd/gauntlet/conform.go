package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules"
	"github.com/rdma-gauntlet/gauntlet/conformance/scenarios"
	"github.com/rdma-gauntlet/gauntlet/conformance/suite"
	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/run"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/impls/all"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// conformFlags are the flags of conform.
type conformFlags struct {
	impl, bench, link, out, color string
	suite                         suite.Options
	attempts                      int
	list, quiet                   bool
}

func conformCommand() *cobra.Command {
	var f conformFlags
	c := &cobra.Command{
		Use:   "conform",
		Short: "Run the conformance scenarios and judge every rule",
		Long: `Run the conformance scenarios against an implementation and judge every rule.

A scenario fails when a required rule is broken, and when a rule that it is there for was not exercised. Scenarios are
selected by name (--focus) and by label: impl:NAME, sim or netns, family:GBN, level:must, rule IDs, faults, random.`,
		Example: `  gauntlet conform --impl gbn
  gauntlet conform --bench netns --label-filter 'family:GBN && !random' --junit conform.xml
  gauntlet conform --label-filter GBN-NAK-002 --out runs/nak
  gauntlet conform --list --focus read`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return f.execute(c.Context()) },
	}
	d := c.Flags()
	d.StringVar(&f.impl, "impl", strings.Join(all.Names(), ","), "implementations, separated by commas (see: list impls)")
	d.StringVar(&f.bench, "bench", "sim", "where to run: sim (virtual time) or netns (real packets between network namespaces)")
	d.StringVar(&f.link, "link", "auto", "netns: auto, netem (the kernel's) or relay (user space)")
	d.StringVar(&f.suite.LabelFilter, "label-filter", "", "select by label, such as 'family:NEG || GBN-NAK-001'")
	d.StringArrayVar(&f.suite.Focus, "focus", nil, "select by a regular expression on 'IMPL SCENARIO'; may be repeated")
	d.StringArrayVar(&f.suite.Skip, "skip", nil, "leave out by a regular expression; may be repeated")
	d.StringVar(&f.suite.JUnit, "junit", "", "write a JUnit report to this file")
	d.StringVar(&f.suite.JSON, "json", "", "write a JSON report with all verdicts and findings to this file")
	d.StringVar(&f.out, "out", "", "keep a run folder for each scenario below this one (default: keep none)")
	d.IntVar(&f.attempts, "attempts", 3, "netns: runs of a scenario until one has a valid link; other outcomes are not repeated")
	d.BoolVar(&f.list, "list", false, "list what would run, and run nothing")
	d.BoolVar(&f.quiet, "quiet", false, "no progress line, and only rules that did not pass in the table")
	d.StringVar(&f.color, "color", "auto", "colours: auto (on a terminal), always or never")
	return c
}

// execute registers the specs, runs those selected, and prints what they found.
func (f *conformFlags) execute(ctx context.Context) error {
	impls, err := f.implementations()
	if err != nil {
		return usage(err)
	}
	t := newConformTable(impls, f.color)
	b := benchOnDemand{name: f.bench}
	cfg := suite.Config{Implementations: impls, Reference: impls, Scenarios: scenarios.All(), Bench: f.bench,
		Run: func(ctx context.Context, impl string, sc *scenarios.Scenario, s *scenario.Spec) (*model.Result, error) {
			return f.run(ctx, &b, impl, sc, s)
		}}
	bar := newProgress(os.Stderr, !f.quiet)
	var selected []suite.Spec
	cfg.Observe = func(o *suite.Outcome) {
		t.add(o)
		bar.show(float64(t.done)/float64(len(selected)), o.Impl+" "+o.Scenario)
	}
	if err := suite.Register(cfg); err != nil {
		return exit{exitBroken, err.Error()}
	}
	if selected, err = suite.List(f.suite); err != nil {
		return usage(err)
	}
	switch {
	case len(selected) == 0:
		return usage(fmt.Errorf("no scenario is selected; see: conform --list"))
	case f.list:
		return printSpecs(os.Stdout, selected)
	}
	if err := b.open(); err != nil {
		return err
	}
	_, err = suite.Run(f.suite)
	bar.done()
	if err != nil {
		return usage(err)
	}
	return f.conclude(ctx, os.Stdout, t, len(selected))
}

// conclude prints the findings and the table, and turns the worst outcome into the exit code.
func (f *conformFlags) conclude(ctx context.Context, out io.Writer, t *conformTable, selected int) error {
	if err := t.print(out, f.quiet); err != nil {
		return exit{exitBroken, err.Error()}
	}
	switch {
	case ctx.Err() != nil || t.done < selected:
		return exit{exitBroken, fmt.Sprintf("conform: interrupted after %d of %d scenarios", t.done, selected)}
	case t.worst >= rule.Invalid:
		return exit{code: exitBroken}
	case t.worst != rule.Pass:
		return exit{code: exitFailure}
	}
	return nil
}

// implementations reads --impl.
func (f *conformFlags) implementations() ([]string, error) {
	names := strings.Split(f.impl, ",")
	for _, name := range names {
		if _, ok := all.Find(name); !ok {
			return nil, fmt.Errorf("implementation %q: unknown; known: %s", name, strings.Join(all.Names(), " "))
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// benchOnDemand makes the bench when something is going to run, because that may start this process again.
type benchOnDemand struct {
	name string
	bench.Bench
}

func (b *benchOnDemand) open() (err error) {
	b.Bench, err = findBench(b.name, "")
	return err
}

// run takes one scenario through the pipeline. A run whose link was not what the scenario says proves nothing about the
// implementation, so it is made again; a failure never is.
func (f *conformFlags) run(ctx context.Context, b bench.Bench, impl string, sc *scenarios.Scenario, s *scenario.Spec) (*model.Result, error) {
	for attempt := 1; ; attempt++ {
		r, err := f.once(ctx, b, impl, sc, s, attempt)
		if err != nil || r.Status != rule.Invalid.String() || attempt >= f.attempts || f.bench == "sim" {
			return r, err
		}
	}
}

func (f *conformFlags) once(ctx context.Context, b bench.Bench, impl string, sc *scenarios.Scenario, s *scenario.Spec, attempt int) (*model.Result, error) {
	i, _ := all.Find(impl)
	folder := ""
	if f.out != "" {
		folder = filepath.Join(f.out, impl, filepath.FromSlash(sc.Name))
		if attempt > 1 {
			folder += fmt.Sprintf("-attempt-%d", attempt)
		}
	}
	return run.Execute(ctx, run.Options{
		Spec: s, Bench: b, Name: f.bench, Impls: [2]engine.Implementation{i, i}, Rules: rules.All(), Folder: folder, Codec: run.CodecOn, Link: f.link,
		Command: fmt.Sprintf("gauntlet conform --impl %s --bench %s --focus ' %s$'", impl, f.bench, sc.Name),
		Version: version(), Commit: commit(),
	})
}
