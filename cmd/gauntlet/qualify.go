package main

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/build"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/conform"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/document"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/guest"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/progress"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/qualify"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/registry"
	"github.com/rdma-gauntlet/gauntlet/conformance/profiles"
	"github.com/rdma-gauntlet/gauntlet/harness/dut"
	"github.com/rdma-gauntlet/gauntlet/impls/all"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
	"github.com/rdma-gauntlet/gauntlet/reports/terminal"
)

// qualifyFlags are the flags of qualify, which plays scenarios as conform does.
type qualifyFlags struct {
	options qualify.Options
	profile string
	output  outputFlags
	waivers waiverFlag
	guest   guestFlags
	limits  limitFlags
	hosted  hostedFlags

	passport passportFlags
}

func qualifyCommand() *cobra.Command {
	f := &qualifyFlags{}
	c := &cobra.Command{
		Use:   "qualify",
		Short: "Qualify an implementation for a profile: its rules, its targets, and a report folder",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return f.start(c) },
	}
	f.define(c)
	return c
}

// define declares the flags.
func (f *qualifyFlags) define(c *cobra.Command) {
	d, k := c.Flags(), &f.options.Conform
	d.StringVar(&k.Impl, "impl", "", "implementation to qualify (see: list impls); exec:PATH is a program of yours")
	d.StringVar(&f.profile, "profile", "", "what to qualify it for (see: list profiles), or a file such as ./mine.txt")
	d.StringVar(&k.Peer, "peer", "", "implementation at B (default: the one at A)")
	d.StringVar(&k.Device, "dut", "", "qualify a foreign device in place of an implementation: rxe, the kernel's "+
		"soft-RoCE; or, with --testbed, that of a host (default: the only one)")
	d.StringVar(&k.Bench, "bench", "sim", benchHelp)
	d.StringVar(&k.Link, "link", "auto", "netns, lab: "+linkHelp)
	dilateFlag(c, &k.Dilate)
	d.StringVar(&f.options.Folder, "out", "", "report folder (default: a new one below runs/)")
	d.IntVar(&k.Attempts, "attempts", conform.Attempts, "netns, lab: how often a scenario is run at most until "+
		"its link is valid; other outcomes are not repeated")
	f.limits.define(c, &k.Limit, &k.Still)
	d.IntVar(&f.options.Seeds, "seeds", 3, "seeds of the runs of a target")
	f.waivers.define(c)
	f.output.define(c, "no progress line")
	f.guest.Define(c)
	f.hosted.define(c)
	d.StringVar(&f.passport.File, "passport", "", "also write a signed passport to this file; see: gauntlet passport")
	f.passport.define(c, "passport-")
	completeChoices(c, "bench", "link")
	complete(c, "impl", all.Names()...)
	complete(c, "peer", all.Names()...)
	complete(c, "dut", dut.Name)
	complete(c, "profile", profiles.Names()...)
}

// start checks the flags, and runs the qualification here or in a guest.
func (f *qualifyFlags) start(c *cobra.Command) error {
	f.hosted.choose(c, &f.options.Conform.Bench)
	if err := f.check(c); err != nil {
		return usage(err)
	}
	o := &f.options
	k := &o.Conform
	f.guest.Carry(k.Impl, k.Peer, k.Device)
	o.Folder = document.NewFolder(o.Folder, "qualify", registry.Short(cmp.Or(k.Impl, k.Device, "dut")),
		filepath.Base(f.profile), k.Bench)
	o.Command = build.CommandLine()
	if k.Bench == "lab" && !guest.Elsewhere(k.Bench) {
		f.passport.File = "" // the key is outside the guest
	}
	if f.passport.File != "" {
		if err := f.passport.Ready(); err != nil {
			return err
		}
		k.Taps = true
	}
	if guest.Elsewhere(k.Bench) {
		err := f.guest.again(c.Context(), 1, guest.Existing(append(f.waivers.names, f.profile)), []string{o.Folder},
			"--out", o.Folder)
		return f.certify(c.Context(), err)
	}
	return f.certify(c.Context(), f.execute(c.Context(), *o))
}

// certify makes the passport of a qualification that reached a verdict, good or bad, and returns the error for the exit
// code. An error of the passport does not hide a failure.
func (f *qualifyFlags) certify(ctx context.Context, verdict error) error {
	var ended exit
	if f.passport.File == "" || verdict != nil && (!errors.As(verdict, &ended) || ended.text != "" ||
		ended.code == exitUsage) {
		return verdict
	}
	if err := f.passport.sign(ctx, f.options.Folder, f.output.quiet); err != nil && verdict != nil {
		return ending(ended.code, err)
	} else if err != nil {
		return err
	}
	return verdict
}

// check checks the flags, and finds the profile.
func (f *qualifyFlags) check(c *cobra.Command) error {
	if err := onBench(c, f.options.Conform.Bench, "bench", "color", "link"); err != nil {
		return err
	}
	k := &f.options.Conform
	if err := f.limits.check(c, k.Where()); err != nil {
		return err
	}
	k.Hosted = f.hosted.Hosted
	return f.options.Find(f.profile)
}

// execute runs the scenarios and the targets, and prints the verdict.
func (f *qualifyFlags) execute(ctx context.Context, o qualify.Options) error {
	if o.Conform.Bench == "remote" {
		done, err := f.hosted.judge(ctx, &o.Conform)
		if err != nil {
			return err
		}
		defer done()
	}
	s, err := qualify.New(o)
	if err != nil {
		return err
	}
	waived, err := f.waivers.read()
	if err != nil {
		return usage(err)
	}
	if err := s.Register(waived); err != nil {
		return err
	}
	if err := s.Open(); err != nil {
		return err
	}
	bar := progress.New(os.Stderr, !f.output.quiet)
	err = s.Play(bar.Show)
	bar.Done()
	if err != nil {
		return err
	}
	bar.Restart()
	q, err := s.Verdict(ctx, bar.Show)
	bar.Done()
	if err != nil {
		return err
	}
	return f.conclude(q)
}

// conclude writes the files, prints the verdict and derives the exit code from it.
func (f *qualifyFlags) conclude(q *model.Qualification) error {
	switch err := errors.Join(qualify.Write(q), show(q, &f.output, terminal.Qualification)); {
	case err != nil:
		return broken(err)
	case q.Qualified:
		return nil
	case q.Undecided():
		return exit{code: exitBroken}
	}
	return exit{code: exitFailure}
}
