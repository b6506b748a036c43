package main

import (
	"context"
	"errors"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/build"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/conform"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/document"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/guest"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/matrix"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/matrix/rows"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/progress"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/registry"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/rulebook"
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
	options           matrix.Options
	impl, links, html string
	params            []string
	broken, peers     bool
	output            outputFlags
	waivers           waiverFlag
	guest             guestFlags
	limits            limitFlags
	hosted            hostedFlags
	most, still       time.Duration // of each cell
	shard             shardFlags
}

func matrixCommand() *cobra.Command {
	var f matrixFlags
	names := matrix.LinkNames()
	c := &cobra.Command{
		Use:   "matrix",
		Short: "Run every implementation over a set of links and compare",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return f.execute(c) },
	}
	d, o := c.Flags(), &f.options
	d.StringVar(&f.impl, "impl", strings.Join(all.Names(), ","),
		"implementations, separated by commas; a+b is a at A and b at B, exec:PATH is a program of yours, rxe "+
			"the kernel's soft-RoCE")
	d.BoolVar(&f.peers, "peers", false,
		"run each implementation as requester with each as responder (default then: --links random)")
	d.StringVar(&o.Name, "bench", "sim", benchHelp)
	d.StringVar(&f.links, "links", strings.Join(names, ","),
		"links, separated by commas: names, or files such as ./mine.txt")
	d.StringVar(&o.Link, "link", "auto", "netns, lab: "+linkHelp)
	dilateFlag(c, &o.Dilate)
	d.StringArrayVar(&o.More, "with", nil,
		"scenario line for every cell, such as 'load write msg=1MiB count=50'; may be repeated")
	d.StringArrayVar(&f.params, "param", nil, "parameter of a scheme, impl:name=value; may be repeated")
	d.Uint64Var(&o.Seed, "seed", 1, "seed of every cell")
	d.IntVar(&o.Jobs, "jobs", runtime.GOMAXPROCS(0), "sim: cells that run at once")
	d.IntVar(&o.Attempts, "attempts", conform.Attempts,
		"how often a cell is run at most until its link is valid; other outcomes are not repeated")
	f.limits.define(c, &f.most, &f.still)
	d.BoolVar(&f.broken, "broken", false, "also run the engines with deliberate defects; each must be FAIL")
	d.StringVar(&o.Folder, "out", "", "folder of the run folders (default: a new one below runs/)")
	d.IntVar(&o.Store, "store", run.DefaultStore, "packet records of a run to keep in its trace.ndjson")
	d.StringVar(&f.html, "html", "", "also write the page to this file, or into this folder")
	f.shard.define(c)
	f.output.define(c, "no progress")
	f.waivers.define(c)
	f.guest.Define(c)
	f.hosted.define(c)
	d.StringVar(&f.hosted.Host, "dut", "", "remote: the host of the testbed whose device is rxe or rnic, or two, at "+
		"A and at B (default: all that it has)")
	completeChoices(c, "bench", "link")
	complete(c, "impl", all.Names()...)
	complete(c, "links", names...)
	return c
}

// execute runs the matrix, writes it and prints it.
func (f *matrixFlags) execute(c *cobra.Command) error {
	if f.peers && !c.Flags().Changed("links") {
		f.links = "random"
	}
	o := &f.options
	f.hosted.choose(c, &o.Name)
	if err := f.read(c); err != nil {
		return usage(err)
	}
	b := registry.OnDemand{Name: o.Name}
	names := rows.Ends(f.impl)
	f.guest.Carry(names...)
	if asked := guest.Elsewhere(o.Name) && slices.ContainsFunc(names, scenario.Foreign); !asked {
		if err := rows.Read(f.impl, f.peers, o, &b); err != nil {
			return err
		}
		if err := o.Check(); err != nil {
			return usage(err)
		}
	}
	if ended, err := f.divide(c, &b); ended || err != nil {
		return err
	}
	o.Folder = document.NewFolder(o.Folder, "matrix", o.Name)
	if err := matrix.Prepare(o.Folder); err != nil {
		return blamed(err)
	}
	if guest.Elsewhere(o.Name) {
		return f.again(c.Context())
	}
	if o.Name == "remote" {
		done, err := f.hosted.open(c.Context(), &b, rows.Devices(o.Rows))
		if err != nil {
			return err
		}
		defer done()
	}
	if err := b.Open(); err != nil {
		return err
	}
	o.Bench, o.Place = b.Bench, rows.Placed(b.Bench)
	return f.conclude(c.Context(), f.runAll(c.Context()))
}

// divide begins a batch of cells if their results are stored. If the command is a shard, it also runs the cells of the
// shard, and reports that the command has ended.
func (f *matrixFlags) divide(c *cobra.Command, b *registry.OnDemand) (ended bool, err error) {
	o := &f.options
	if err := f.shard.open(); err != nil || f.shard.folder == nil {
		return false, err
	}
	if err := o.Divisible(f.broken); err != nil {
		return false, usage(err)
	}
	if err := b.Open(); err != nil {
		return false, err
	}
	o.Bench, o.Place, o.Kept = b.Bench, rows.Placed(b.Bench), f.shard.folder
	bar := progress.New(os.Stderr, !f.output.quiet)
	all, one := o.Units()
	return f.shard.divide(c, all, o.Jobs, one, bar)
}

// read reads the flags into the options.
func (f *matrixFlags) read(c *cobra.Command) (err error) {
	o := &f.options
	if err := onBench(c, o.Name, "bench", "color", "link"); err != nil {
		return err
	}
	if err := o.Limit(c.Flags().Changed("jobs")); err != nil {
		return err
	}
	if err := f.limits.check(c, o.Name); err != nil {
		return err
	}
	if f.most > 0 {
		o.More = append(o.More, "run limit="+vtime.FromStd(f.most).String())
	}
	o.Still = vtime.FromStd(f.still)
	o.Rules, o.Command, o.Version, o.Commit = rules.All(), build.CommandLine(), build.Version(), build.Commit()
	o.Explain = rulebook.Of
	if o.Links, err = matrix.FindLinks(f.links); err != nil {
		return err
	}
	if o.Waivers, err = f.waivers.read(); err != nil {
		return err
	}
	o.Params, err = rows.Parameters(f.params)
	return err
}

// runAll runs the cells, and with --broken the broken engines.
func (f *matrixFlags) runAll(ctx context.Context) *model.Matrix {
	bar := progress.New(os.Stderr, !f.output.quiet)
	defer bar.Done()
	o := f.options
	o.Progress, o.Done = bar.Show, o.Each(bar.Say)
	if !f.broken {
		return matrix.Run(ctx, o)
	}
	return matrix.RunAndHunt(ctx, o, selfcheck.Engines(), bar.Restart)
}

// again runs the matrix in a guest.
func (f *matrixFlags) again(ctx context.Context) error {
	folder := f.options.Folder
	outputs, more := []string{folder}, []string{"--out", folder}
	if page := matrix.Page(f.html); page != "" {
		outputs, more = append(outputs, page), append(more, "--html", page)
	}
	return f.guest.again(ctx, f.options.Seed, guest.Existing(append(strings.Split(f.links, ","), f.waivers.names...)),
		outputs, more...)
}

// conclude writes the files, prints the table and derives the exit code from the status.
func (f *matrixFlags) conclude(ctx context.Context, m *model.Matrix) error {
	f.shard.provenance(&m.Command, &m.Started, &m.Wall)
	switch err := errors.Join(matrix.Write(m, matrix.Page(f.html)), show(m, &f.output, terminal.Matrix)); {
	case err != nil:
		return broken(err)
	case ctx.Err() != nil && m.Status == "FAIL": // an interrupt hides no failure
		return exit{exitFailure, "matrix: interrupted"}
	case ctx.Err() != nil:
		return exit{exitBroken, "matrix: interrupted"}
	}
	return settled(m.Status)
}
