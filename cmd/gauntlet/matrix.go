package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/build"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/conform"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/guest"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/matrix"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/matrix/rows"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/progress"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/registry"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/run"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/selfcheck"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/all"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
	"github.com/rdma-gauntlet/gauntlet/reports/terminal"
)

// matrixFlags are the flags of matrix.
type matrixFlags struct {
	impl, bench, links, link, out, html, color string
	with, params                               []string
	seed                                       uint64
	jobs, attempts, store                      int
	broken, peers, json, quiet                 bool
	waivers                                    waiverFlag
	guest                                      guestFlags
	limits                                     limitFlags
	most, still                                time.Duration // of a cell
}

func matrixCommand() *cobra.Command {
	var f matrixFlags
	var names []string
	for _, l := range matrix.Links() {
		names = append(names, l.Name)
	}
	c := &cobra.Command{
		Use:   "matrix",
		Short: "Run every implementation over a set of links and compare",
		Long: `Run every implementation over a set of links, judge each run, and print one table.

A link is a few lines of scenario text. --links takes names of those that come with the program and files of your own,
such as ./mine.txt; a file may change anything, the workload as well. Every cell is a run of its own, with the same seed
and with a run folder below --out, where matrix.json, matrix.md and matrix.html are written too.

With --peers the table says who can talk to whom: every implementation and program of --impl as requester with every one as
responder. Cells that need not work say why; what is wrong with one program is in its row and column alone.

With --broken the engines that are wrong on purpose run as well, in virtual time: the rules must fail on each of them.`,
		Example: `  gauntlet matrix
  gauntlet matrix --impl gbn,fasr,fasr+gbn --links clean,burst,./mine.txt --with 'link rate=10G delay=20ms'
  gauntlet matrix --peers --impl gbn,fasr,exec:./mine --bench netns
  gauntlet matrix --peers --impl gbn,irn,rxe,exec:./mine --bench lab --deterministic
  gauntlet matrix --bench netns --html matrix.html --json > matrix.json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return f.execute(c) },
	}
	d := c.Flags()
	d.StringVar(&f.impl, "impl", strings.Join(all.Names(), ","), "implementations, separated by commas; a+b is a at A and b at B, exec:PATH is a program of yours, rxe the kernel's soft-RoCE")
	d.BoolVar(&f.peers, "peers", false, "run each implementation as requester with each as responder (default then: --links random)")
	d.StringVar(&f.bench, "bench", "sim", benchHelp)
	d.StringVar(&f.links, "links", strings.Join(names, ","), "links, separated by commas: names, or files such as ./mine.txt")
	d.StringVar(&f.link, "link", "auto", "netns, lab: auto, netem (the kernel's) or relay (user space)")
	d.StringArrayVar(&f.with, "with", nil, "scenario line for every cell, such as 'load write msg=1MiB count=50'; may be repeated")
	d.StringArrayVar(&f.params, "param", nil, "parameter of a scheme, impl:name=value; may be repeated")
	d.Uint64Var(&f.seed, "seed", 1, "seed of every cell")
	d.IntVar(&f.jobs, "jobs", runtime.GOMAXPROCS(0), "sim: cells that run at once")
	d.IntVar(&f.attempts, "attempts", conform.Attempts, "runs of a cell until its link is valid; other outcomes are not repeated")
	f.limits.define(c, &f.most, &f.still)
	d.BoolVar(&f.broken, "broken", false, "also run the engines that are wrong on purpose; each must be FAIL")
	d.StringVar(&f.out, "out", "", "folder of the run folders (default: a new one below runs/)")
	d.IntVar(&f.store, "store", run.DefaultStore, "packet records of a run to keep in its trace.ndjson")
	d.StringVar(&f.html, "html", "", "also write the page to this file, or into this folder")
	d.BoolVar(&f.json, "json", false, jsonHelp)
	d.BoolVar(&f.quiet, "quiet", false, "no progress")
	d.StringVar(&f.color, "color", "auto", "colours: auto (on a terminal), always or never")
	f.waivers.define(c)
	f.guest.define(c)
	completeChoices(c, "bench", "link", "color")
	complete(c, "impl", all.Names()...)
	complete(c, "links", names...)
	return c
}

// execute runs the matrix and prints it.
func (f *matrixFlags) execute(c *cobra.Command) error {
	if f.peers && !c.Flags().Changed("links") {
		f.links = "random"
	}
	o, err := f.options(c)
	if err != nil {
		return usage(err)
	}
	b := registry.OnDemand{Name: f.bench}
	names := rows.Ends(f.impl)
	f.guest.Carry(names...)
	if asked := guest.Elsewhere(f.bench) && slices.ContainsFunc(names, scenario.Foreign); !asked {
		if err := rows.Read(f.impl, f.peers, o, &b); err != nil {
			return err
		}
		if err := o.Check(); err != nil {
			return usage(err)
		}
	}
	o.Folder = newFolder(f.out, "matrix", f.bench)
	if err := matrix.Prepare(o.Folder); err != nil {
		return blamed(err)
	}
	if guest.Elsewhere(f.bench) {
		return f.again(c.Context(), o.Folder)
	}
	if err := b.Open(); err != nil {
		return err
	}
	o.Bench, o.Place = b.Bench, rows.Placed(b.Bench)
	return f.conclude(c.Context(), f.runAll(c.Context(), o))
}

// runAll runs the cells, and the broken engines if they are asked for.
func (f *matrixFlags) runAll(ctx context.Context, o *matrix.Options) *model.Matrix {
	bar := progress.New(os.Stderr, !f.quiet)
	defer bar.Done()
	ended := 0
	o.Progress = bar.Show
	o.Done = func(cell *model.Cell) {
		ended++
		bar.Say(fmt.Sprintf("%d/%d %s %s: %s", ended, len(o.Rows)*len(o.Links), cell.Impl, cell.Link, cell.Status))
	}
	m := matrix.Run(ctx, *o)
	if f.broken && ctx.Err() == nil {
		bar.Restart()
		o.Jobs = max(o.Jobs, runtime.GOMAXPROCS(0)) // in virtual time, whatever the bench of the cells
		m.Kills = matrix.Hunt(ctx, *o, selfcheck.Engines())
		m.Settle()
	}
	return m
}

// again runs the matrix in a guest.
func (f *matrixFlags) again(ctx context.Context, folder string) error {
	outputs, more := []string{folder}, []string{"--out", folder}
	if page := matrix.Page(f.html); page != "" {
		outputs, more = append(outputs, page), append(more, "--html", page)
	}
	return f.guest.again(ctx, f.seed, guest.Existing(append(strings.Split(f.links, ","), f.waivers.names...)), outputs, more...)
}

// options reads the flags.
func (f *matrixFlags) options(c *cobra.Command) (*matrix.Options, error) {
	if err := oneOf(c, "bench", "color", "link"); err != nil {
		return nil, err
	}
	if err := onBench(c, f.bench); err != nil {
		return nil, err
	}
	if err := f.limits.check(c, f.bench); err != nil {
		return nil, err
	}
	switch {
	case c.Flags().Changed("jobs") && f.bench != "sim" && f.jobs != 1:
		return nil, fmt.Errorf("--jobs %d: cells of the %s bench run one after the other, in real time; leave it out", f.jobs, f.bench)
	case f.jobs < 1 || f.attempts < 1 || f.store < 1:
		return nil, fmt.Errorf("--jobs %d, --attempts %d, --store %d: want 1 or more", f.jobs, f.attempts, f.store)
	}
	if f.bench != "sim" {
		f.jobs = 1
	}
	if f.most > 0 {
		f.with = append(f.with, "run limit="+vtime.FromStd(f.most).String())
	}
	o := &matrix.Options{More: f.with, Still: vtime.FromStd(f.still), Seed: f.seed, Name: f.bench, Link: f.link, Rules: rules.All(), Jobs: f.jobs, Attempts: f.attempts, Store: f.store,
		Command: commandLine(), Version: build.Version(), Commit: build.Commit()}
	var err error
	if o.Links, err = matrix.FindLinks(f.links); err != nil {
		return nil, err
	}
	if o.Waivers, err = f.waivers.read(); err != nil {
		return nil, err
	}
	o.Params, err = rows.Parameters(f.params)
	return o, err
}

// conclude writes the files, prints the table and turns the status into an exit code.
func (f *matrixFlags) conclude(ctx context.Context, m *model.Matrix) error {
	switch err := errors.Join(matrix.Write(m, matrix.Page(f.html)), show(m, f.json, f.color, terminal.Matrix)); {
	case err != nil:
		return broken(err)
	case ctx.Err() != nil:
		return exit{exitBroken, "matrix: interrupted"}
	}
	switch m.Status {
	case "PASS":
		return nil
	case "INVALID", "ERROR":
		return exit{code: exitBroken}
	}
	return exit{code: exitFailure}
}
