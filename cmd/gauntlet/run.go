package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/build"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/device"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/document"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/guest"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/progress"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/registry"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/rulebook"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/run"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/shorthand"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules"
	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/harness/workload"
	"github.com/rdma-gauntlet/gauntlet/impls/all"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// runFlags are the flags of run.
type runFlags struct {
	words                           shorthand.Words
	bench, out, link, codec, expose string
	store, attempts                 int
	output                          outputFlags
	waivers                         waiverFlag
	guest                           guestFlags
	limits                          limitFlags
	still                           time.Duration
	hosted                          hostedFlags
	dilate                          vtime.Dilation
}

func runCommand() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run [SPEC]",
		Short: "Run a workload over an emulated link, judge it and report",
		Long:  limitsHelp,
		Args:  cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			f.hosted.choose(c, &f.bench)
			s, err := f.words.Read(args, c.Flags().Changed)
			if err == nil {
				err = f.check(c)
			}
			if err != nil {
				return usage(err)
			}
			if guest.Elsewhere(f.bench) {
				out := f.folder(s)
				f.guest.Carry(s.Impl[:]...)
				return f.guest.again(c.Context(), s.Seed, slices.Concat(args, guest.Tapes(s),
					guest.Existing(f.waivers.names)), run.AttemptFolders(out, f.attempts), "--out", out)
			}
			return f.execute(c.Context(), s)
		},
	}
	f.define(c)
	return c
}

// define declares the flags.
func (f *runFlags) define(c *cobra.Command) {
	d, w := c.Flags(), &f.words
	d.StringVar(&w.Impl, "impl", "gbn", "implementation, or two separated by a comma for A and B (see: list impls); "+
		"exec:PATH is a program of yours, image:NAME one in a container image")
	d.StringVar(&f.bench, "bench", "sim", benchHelp)
	d.StringVar(&w.Rate, "rate", "1G", "line rate, layer 1: 100M, 10G; 0 is unlimited")
	d.StringVar(&w.RTT, "rtt", "10ms", "round-trip propagation delay")
	d.StringVar(&w.Jitter, "jitter", "0s", "each packet's one-way delay varies by up to this much")
	d.StringVar(&w.Loss, "loss", "0",
		"loss probability (1e-4, 0.1%), or a model: 'gemodel p=1% r=30%', 'state p13=1%', 'tape file=F'")
	d.StringVar(&w.Burst, "burst", "", "burst loss: enter=1e-4,len=8,loss=0.3")
	d.IntVar(&w.Queue, "queue", 0,
		"packets that may wait for the line (default: twice the bandwidth-delay product, 1000 at least)")
	d.IntVar(&w.MTU, "mtu", 1024, "path MTU: 256, 512, 1024, 2048 or 4096")
	d.StringVar(&w.Message, "msg", "64KiB", "message size")
	d.StringVar(&w.Sizes, "cdf", "",
		"sizes of messages that vary: websearch, fb-hadoop, or corners such as 1KiB:50%,1MiB:1")
	d.StringVar(&w.Offered, "offered", "",
		"messages arrive as a Poisson process and offer this share of the rate: 30%")
	d.DurationVar(&w.Every, "every", 0, "messages arrive at this interval, on all connections at once: 10ms")
	d.StringVar(&w.Operation, "op", "write", "operation: write, write-imm, send, send-imm or read")
	d.StringVar(&w.Congestion, "cc", "none", "rate control: none, dcqcn or dctcp; it needs a link that marks "+
		"packets (link ecn-min=…)")
	d.IntVar(&w.QPs, "qps", 1, "connections")
	d.IntVar(&w.Depth, "qd", 128, "queue depth: requests outstanding per connection")
	d.IntVar(&w.CQMod, "cqmod", 1, "one signalled completion in this many")
	d.IntVar(&w.Count, "count", 0, "messages per connection (default 100, or with many connections so many that all "+
		"have 10000; none with --duration)")
	d.DurationVar(&w.Duration, "duration", 0, "run for this long instead of a count")
	f.limits.define(c, &w.Limit, &f.still)
	d.IntVar(&w.Timeout, "timeout", -1, "local ACK timeout code (default: 14, or what covers 1.5 RTT)")
	d.Uint64Var(&w.Seed, "seed", 1, "seed of every random stream")
	d.StringArrayVar(&w.Params, "param", nil, "parameter of the scheme, name=value; may be repeated")
	d.StringArrayVar(&w.Faults, "fault", nil, "scripted fault, such as 'drop A psn=+2 tx=1'; may be repeated")
	d.StringVar(&f.link, "link", "auto", "netns, container, lab: "+linkHelp)
	dilateFlag(c, &f.dilate)
	d.StringVar(&f.expose, "expose", "", "netns: name the namespaces NAME-a, NAME-link and NAME-b while the run lasts")
	d.StringVar(&f.codec, "codec", "auto", "sim: encode packets, on, off or auto (on below a million packets)")
	d.StringVar(&f.out, "out", "", "run folder (default: a new one below runs/)")
	d.IntVar(&f.attempts, "attempts", run.UsualAttempts,
		"netns, container, lab: how often to run at most until the link is valid; other outcomes are not repeated")
	d.IntVar(&f.store, "store", run.DefaultStore, "packet records to keep in trace.ndjson")
	f.output.define(c, "no progress line")
	f.waivers.define(c)
	f.guest.Define(c)
	f.hosted.define(c)
	d.StringVar(&f.hosted.Host, "dut", "", "remote: the host of the testbed whose device is judged, or two, at A and "+
		"at B (default: all that it has); --impl says at which end, gbn,rxe or rxe,rxe, and rnic for an RNIC")
	completeChoices(c, "bench", "cc", "codec", "link", "mtu", "op")
	complete(c, "impl", all.Names()...)
	complete(c, "cdf", workload.Names()...)
}

// check checks the flags that are not part of the Spec.
func (f *runFlags) check(c *cobra.Command) error {
	if err := onBench(c, f.bench, "bench", "codec", "color", "link"); err != nil {
		return err
	}
	if err := f.limits.check(c, f.bench); err != nil {
		return err
	}
	if f.store < 1 {
		return fmt.Errorf("--store %d: want 1 or more packet records", f.store)
	}
	if f.attempts < 1 || f.attempts > run.MostAttempts {
		return fmt.Errorf("--attempts %d: want 1 to %d", f.attempts, run.MostAttempts)
	}
	return nil
}

// execute runs the Spec and prints the result.
func (f *runFlags) execute(ctx context.Context, s *scenario.Spec) error {
	if err := registry.Runs(f.bench, s.Impl[:]...); err != nil {
		return usage(err)
	}
	// before the attempts, which may take an hour
	if err := run.Vacant(run.AttemptFolders(f.out, f.attempts)...); err != nil {
		return usage(err)
	}
	known, err := f.waivers.read()
	if err != nil {
		return usage(err)
	}
	b, done, err := f.open(ctx, s) // may start this process again with the privilege that programs need
	if err != nil {
		return err
	}
	defer done()
	impls, err := registry.Ends(s)
	if err != nil {
		return err
	}
	job, err := device.Place(b, s, impls)
	if err != nil {
		return usage(err)
	}
	bar := progress.New(os.Stderr, !f.output.quiet && !f.output.json)
	result, err := run.Attempts(ctx, run.Options{
		Spec: job.Spec, Bench: job.Bench, Name: f.bench, Impls: job.Impls, Rules: rules.All(), Keep: f.folder,
		Codec: run.Codec(f.codec), Link: f.link,
		Still: vtime.FromStd(f.still), Dilate: f.dilate, Chosen: bar.Note,
		Store: f.store, Command: build.CommandLine(), Version: build.Version(), Commit: build.Commit(),
		Progress: bar.Show,
		Waivers:  known, Explain: rulebook.Of,
	}, f.attempts, func(attempt int, r *model.Result) {
		bar.Say(fmt.Sprintf("attempt %d of %d, in %s: %s: %s", attempt, f.attempts, r.Folder, r.Status, r.Reason))
		bar.Restart()
	})
	bar.Done()
	return printResult(result, &f.output, err)
}

// open opens the bench. Done closes its sessions on hosts.
func (f *runFlags) open(ctx context.Context, s *scenario.Spec) (b bench.Bench, done func() error, err error) {
	if f.bench != "remote" {
		b, err = registry.Open(f.bench, f.expose)
		return b, func() error { return nil }, err
	}
	r := &registry.OnDemand{Name: f.bench}
	done, err = f.hosted.open(ctx, r, device.Count(s.Impl[:]...))
	return r.Bench, done, err
}

// folder returns the run folder: --out, or a new folder below runs/.
func (f *runFlags) folder(s *scenario.Spec) string {
	if f.out != "" {
		return f.out
	}
	ends := slices.Compact([]string{registry.Short(s.Impl[0]), registry.Short(s.Impl[1])})
	return document.NewFolder("", strings.Join(ends, "+"), f.bench, s.Hash()[:8])
}
