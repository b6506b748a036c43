package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/build"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/document"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/gate"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/guest"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/progress"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/registry"
	"github.com/rdma-gauntlet/gauntlet/impls/all"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
	"github.com/rdma-gauntlet/gauntlet/reports/terminal"
)

// gateFlags are the flags of gate. The runs and their bounds are in its file.
type gateFlags struct {
	options        gate.Options
	impl, baseline string
	budget         time.Duration
	output         outputFlags
	guest          guestFlags
}

func gateCommand() *cobra.Command {
	f := &gateFlags{}
	c := &cobra.Command{
		Use:   "gate [FILE]",
		Short: "Decide whether a change may be merged: one file, one verdict, one exit code",
		Args:  cobra.MaximumNArgs(1),
		RunE:  func(c *cobra.Command, files []string) error { return f.start(c, files) },
	}
	d, o := c.Flags(), &f.options
	d.StringVar(
		&f.impl,
		"impl",
		"",
		"implementation to gate where there is no file (see: list impls); exec:PATH is a program of yours",
	)
	d.StringVar(&f.baseline, "baseline", "", "gate.json of main to compare with (default: that of the file)")
	d.DurationVar(&f.budget, "budget", 0, "begin no run after this time (default: that of the file, else 15m)")
	d.StringVar(&o.Folder, "out", "", "report folder (default: a new one below runs/)")
	d.IntVar(&o.Jobs, "jobs", runtime.GOMAXPROCS(0), "sim: runs at once")
	d.BoolVar(&o.KeepGoing, "keep-going", false, "run all stages also after a failure")
	f.output.define(c, "no progress")
	f.guest.Define(c)
	complete(c, "impl", all.Names()...)
	return c
}

// start reads the file and the flags, and runs the gate here or in a guest.
func (f *gateFlags) start(c *cobra.Command, files []string) error {
	if err := f.read(c, files); err != nil {
		return usage(err)
	}
	o := &f.options
	places := o.Places()
	if err := onBench(c, places[0], "color"); err != nil {
		return usage(err)
	}
	o.Folder = document.NewFolder(o.Folder, "gate", registry.Short(o.Impl+o.Device))
	if !slices.ContainsFunc(places, guest.Elsewhere) {
		return f.execute(c.Context())
	}
	if len(places) > 1 {
		return usage(fmt.Errorf("gate: bench lab is a machine of its own; gate the other benches by another file"))
	}
	f.guest.Carry(o.Impl, o.Peer, o.Device)
	return f.guest.again(
		c.Context(),
		1,
		guest.Existing(append(o.Files(), o.Path)),
		[]string{o.Folder},
		"--out",
		o.Folder,
	)
}

// read reads the file, and the flags that override its lines.
func (f *gateFlags) read(c *cobra.Command, files []string) (err error) {
	o := &f.options
	switch {
	case len(files) == 1 && f.impl != "":
		return fmt.Errorf("gate %s --impl %s: the file names the implementation; give one of the two", files[0], f.impl)
	case len(files) == 1:
		if o.Path = files[0]; o.Path != "" {
			o.File, err = gate.ReadFile(o.Path)
		}
	case f.impl == "":
		return errors.New("gate: want a gate file, or --impl NAME for the defaults; see: gauntlet help gate")
	default:
		o.File = gate.Default()
		o.Impl = f.impl
	}
	if err != nil {
		return err
	}
	if o.Jobs < 1 || c.Flags().Changed("budget") && f.budget <= 0 {
		return fmt.Errorf("--jobs %d, --budget %s: want 1 or more, and more than 0s", o.Jobs, f.budget)
	}
	if f.budget > 0 {
		o.Budget = f.budget
	}
	if f.baseline != "" {
		o.Baseline = f.baseline
	}
	if !c.Flags().Changed("deterministic") { // so that a gate of the same commit has the same result
		f.guest.Deterministic = true
	}
	o.Command, o.Deterministic = build.CommandLine(), f.guest.Deterministic
	return nil
}

// execute plays the stages and prints the verdict.
func (f *gateFlags) execute(ctx context.Context) error {
	s, err := gate.New(f.options)
	if err != nil {
		return err
	}
	if err := s.Open(); err != nil {
		return err
	}
	bar := progress.New(os.Stderr, !f.output.quiet)
	g, err := s.Run(ctx, bar.Show)
	bar.Done()
	if err != nil {
		return err
	}
	return f.conclude(g)
}

// conclude writes the report folder, prints the verdict and derives the exit code from it.
func (f *gateFlags) conclude(g *model.Gate) error {
	if err := errors.Join(gate.Write(g), show(g, &f.output, terminal.Gate)); err != nil {
		return broken(fmt.Errorf("gate: %s: %w", filepath.Clean(g.Folder), err))
	}
	if code := model.ExitCode(g.Status); code != 0 {
		return exit{code: code}
	}
	return nil
}
