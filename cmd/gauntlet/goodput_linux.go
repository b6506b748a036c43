package main

import (
	"context"
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/build"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/goodput"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/guest"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/progress"
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/dut"
	"github.com/rdma-gauntlet/gauntlet/impls/all"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
	"github.com/rdma-gauntlet/gauntlet/reports/terminal"
)

// goodputFlags are the flags of lab goodput.
type goodputFlags struct {
	options goodput.Options
	html    string
	output  outputFlags
	guest   guestFlags
}

func labGoodputCommand() *cobra.Command {
	var f goodputFlags
	c := &cobra.Command{
		Use:   "goodput",
		Short: "Compare the kernel's soft-RoCE with an engine of this program",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return f.execute(c.Context()) },
	}
	d, o := c.Flags(), &f.options
	d.StringVar(&o.Impl, "impl", "gbn", "engine to compare with soft-RoCE (see: list impls)")
	d.StringVar(&o.Rate, "rate", "50M", "line rate, layer 1")
	d.StringVar(&o.Port, "port", "100M", "rate of the engine's port into the link; soft-RoCE's has none")
	d.StringSliceVar(&o.RTTs, "rtt", []string{"1ms", "10ms"}, "round-trip propagation delays")
	d.StringSliceVar(&o.Losses, "loss", []string{"0", "1e-4", "1e-3", "1e-2"}, "loss probabilities, each way")
	d.StringVar(&o.Message, "msg", "128KiB", "size of a message")
	d.IntVar(&o.Count, "count", 150, "messages of a run for goodput")
	d.IntVar(&o.Singles, "singles", 30, "messages of a run for completion times")
	d.IntVar(&o.Depth, "depth", 2, "messages outstanding in a run for goodput")
	d.Uint64Var(&o.Seed, "seed", 1, "seed of every run")
	d.StringVar(&o.Folder, "out", "",
		"keep a run folder, with the captures, for each run below this one (default: keep none)")
	d.StringVar(&f.html, "html", "", "also write the page to this file")
	f.output.define(c, "no progress")
	f.guest.Define(c)
	complete(c, "impl", all.Names()...)
	return c
}

// execute makes the runs, in a guest unless this is one.
func (f *goodputFlags) execute(ctx context.Context) error {
	f.options.Command = build.CommandLine()
	plan, err := goodput.New(f.options)
	if err != nil {
		return usage(err)
	}
	if guest.Elsewhere("lab") {
		f.guest.Carry(dut.Name)
		return f.guest.again(ctx, f.options.Seed, nil, given(f.options.Folder, f.html))
	}
	bar := progress.New(os.Stderr, !f.output.quiet)
	m, err := plan.Run(ctx, bar.Say)
	if err != nil {
		return err
	}
	return f.conclude(m)
}

// conclude prints the table and writes the page.
func (f *goodputFlags) conclude(m *model.Contrast) error {
	switch err := errors.Join(goodput.Write(m, f.html), show(m, &f.output, terminal.Contrast)); {
	case err != nil:
		return broken(err)
	case m.Status == rule.Pass.String():
		return nil
	case m.Status == rule.Fail.String():
		return exit{code: exitFailure}
	}
	return exit{code: exitBroken}
}
