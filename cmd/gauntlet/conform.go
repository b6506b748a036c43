package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/conform"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/guest"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/progress"
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
)

// conformFlags are the flags of conform.
type conformFlags struct {
	options     conform.Options
	color       string
	list, quiet bool
	waivers     waiverFlag
	guest       guestFlags
	limits      limitFlags
	hosted      hostedFlags
	shard       shardFlags
}

func conformCommand() *cobra.Command {
	var f conformFlags
	c := &cobra.Command{
		Use:   "conform",
		Short: "Run the conformance scenarios and judge every rule",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			o := &f.options
			f.hosted.choose(c, &o.Bench)
			if err := onBench(c, o.Bench); err != nil {
				return usage(err)
			}
			if err := f.limits.check(c, o.Where()); err != nil {
				return usage(err)
			}
			f.guest.Carry(append(strings.Split(o.Impl, ","), o.Peer, o.Device)...)
			if guest.Elsewhere(o.Bench) && !f.list {
				return f.guest.again(c.Context(), 1, guest.Existing(f.waivers.names),
					given(o.Folder, o.Select.JUnit, o.Select.JSON))
			}
			return f.execute(c)
		},
	}
	d, o := c.Flags(), &f.options
	d.StringVar(&o.Impl, "impl", "",
		"implementations, separated by commas (default: all that the bench can run; see: list impls)")
	d.StringVar(&o.Peer, "peer", "", "implementation at B (default: the one at A); exec:PATH is a program of yours, "+
		"image:NAME one in an image, there and in --impl")
	d.StringVar(&o.Device, "dut", "", "judge a foreign device in place of an implementation: rxe, the kernel's "+
		"soft-RoCE; needs root, perftest and rdmacm-utils; or, with --testbed, that of a host (default: the only one)")
	d.StringVar(&o.Bench, "bench", "sim", benchHelp)
	d.StringVar(&o.Link, "link", "auto", "netns, lab: "+linkHelp)
	dilateFlag(c, &o.Dilate)
	d.StringVar(&o.Select.LabelFilter, "label-filter", "", "select by label, such as 'family:NEG || GBN-NAK-001'")
	d.StringArrayVar(&o.Select.Focus, "focus", nil,
		"select by a regular expression on 'IMPL SCENARIO'; may be repeated")
	d.StringArrayVar(&o.Select.Skip, "skip", nil, "leave out by a regular expression; may be repeated")
	d.StringVar(&o.Select.JUnit, "junit", "", "write a JUnit report to this file")
	d.StringVar(&o.Select.JSON, "json", "", "write a JSON report with all verdicts and findings to this file")
	d.StringVar(&o.Folder, "out", "", "keep a run folder for each scenario below this one (default: keep none)")
	d.IntVar(&o.Attempts, "attempts", conform.Attempts, "netns, lab: how often a scenario is run at most until "+
		"its link is valid; other outcomes are not repeated")
	f.limits.define(c, &o.Limit, &o.Still)
	f.shard.define(c)
	f.waivers.define(c)
	d.BoolVar(&f.list, "list", false, "list what would run, and run nothing")
	d.BoolVar(&f.quiet, "quiet", false, "no progress line, and only rules that did not pass in the table")
	d.StringVar(&f.color, "color", "auto", "colours: auto (on a terminal), always or never")
	f.guest.Define(c)
	f.hosted.define(c)
	return c
}

// execute runs the selected scenarios, and prints their findings.
func (f *conformFlags) execute(c *cobra.Command) error {
	ctx := c.Context()
	if err := f.shard.open(); err != nil {
		return err
	}
	if f.options.Kept = f.shard.folder; f.options.Kept != nil {
		if err := f.options.Divisible(); err != nil {
			return usage(err)
		}
	}
	f.options.Paint = colored(f.color, os.Stdout)
	if f.options.Bench == "remote" {
		done, err := f.hosted.judge(ctx, &f.options)
		if err != nil {
			return err
		}
		defer done()
	}
	s, err := conform.New(f.options)
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
	if f.list {
		return s.List(stdout)
	}
	if err := s.Runner.Open(); err != nil {
		return err
	}
	bar := progress.New(os.Stderr, !f.quiet)
	if s.Kept != nil {
		all, one := s.Units()
		if ended, err := f.shard.divide(c, all, runtime.GOMAXPROCS(0), one, bar); ended || err != nil {
			return err
		}
	}
	err = s.Play(bar.Show)
	bar.Done()
	if err != nil {
		return err
	}
	s.Settle()
	return concludeConform(ctx, stdout, s.Table, len(s.Specs), f.quiet)
}

// concludeConform prints the findings and the table, and derives the exit code from the worst outcome.
func concludeConform(ctx context.Context, out io.Writer, t *conform.Table, selected int, short bool) error {
	if err := t.Print(out, short); err != nil {
		return broken(err)
	}
	if ctx.Err() != nil || t.Done < selected { // an interrupt hides no failure
		code := exitBroken
		if t.Worst == rule.Fail {
			code = exitFailure
		}
		return exit{code, fmt.Sprintf("conform: interrupted after %d of %d scenarios", t.Done, selected)}
	}
	return settled(t.Worst.String())
}
