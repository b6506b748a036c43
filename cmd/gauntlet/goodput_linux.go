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

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/run"
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules"
	"github.com/rdma-gauntlet/gauntlet/conformance/waivers"
	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/dut"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/quantity"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/all"
	"github.com/rdma-gauntlet/gauntlet/perf/datasheet"
	"github.com/rdma-gauntlet/gauntlet/reports/html"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
	"github.com/rdma-gauntlet/gauntlet/reports/terminal"
)

// goodputFlags are the flags of lab goodput.
type goodputFlags struct {
	impl, rate, port, msg, out, html, color string
	rtts, losses                            []string
	seed                                    uint64
	count, singles, depth                   int
	json, quiet                             bool
	guest                                   guestFlags
}

func labGoodputCommand() *cobra.Command {
	var f goodputFlags
	c := &cobra.Command{
		Use:   "goodput",
		Short: "Hold the kernel's soft-RoCE and an engine of this program against each other",
		Long: `Run soft-RoCE against soft-RoCE, driven by ib_write_bw, and then an engine of this program against itself, over the same
links of the kernel's netem, and print goodput and flow completion times side by side. Why they differ is read off the
captures: window, retransmission timers, AckReq, NAKs and how far they go back.

Goodput is measured with --depth messages outstanding, the completion time with one. Both sides take the same time-out,
message and MTU. The default rate is what a deterministic guest of 1 GHz sends with time to spare, so that the link is
the limit and not the processor.`,
		Example: `  gauntlet lab goodput --deterministic
  gauntlet lab goodput --deterministic --rtt 10ms --loss 1e-3 --impl irn --out runs/beside --html beside.html`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return f.execute(c.Context()) },
	}
	d := c.Flags()
	d.StringVar(&f.impl, "impl", "gbn", "engine beside soft-RoCE (see: list impls)")
	d.StringVar(&f.rate, "rate", "50M", "line rate, layer 1")
	d.StringVar(&f.port, "port", "100M", "rate of the engine's port into the link; soft-RoCE's has none")
	d.StringSliceVar(&f.rtts, "rtt", []string{"1ms", "10ms"}, "round-trip propagation delays")
	d.StringSliceVar(&f.losses, "loss", []string{"0", "1e-4", "1e-3", "1e-2"}, "loss probabilities, each way")
	d.StringVar(&f.msg, "msg", "128KiB", "size of a message")
	d.IntVar(&f.count, "count", 150, "messages of a run for goodput")
	d.IntVar(&f.singles, "singles", 30, "messages of a run for completion times")
	d.IntVar(&f.depth, "depth", 2, "messages outstanding in a run for goodput")
	d.Uint64Var(&f.seed, "seed", 1, "seed of every run")
	d.StringVar(&f.out, "out", "", "keep a run folder, with the captures, for each run below this one (default: keep none)")
	d.StringVar(&f.html, "html", "", "also write the page to this file")
	d.BoolVar(&f.json, "json", false, "print the result as JSON")
	d.BoolVar(&f.quiet, "quiet", false, "no progress")
	d.StringVar(&f.color, "color", "auto", "colours: auto (on a terminal), always or never")
	f.guest.define(c)
	complete(c, "impl", all.Names()...)
	complete(c, "color", choices["color"]...)
	return c
}

// execute makes the runs, in a guest unless this is one.
func (f *goodputFlags) execute(ctx context.Context) error {
	m, err := f.plan()
	if err != nil {
		return usage(err)
	}
	if elsewhere("lab") {
		f.guest.drivers, f.guest.programs = dut.Modules(), dut.Files()
		return f.guest.again(ctx, f.seed, nil, given(f.out, f.html))
	}
	if err := f.runAll(ctx, m); err != nil {
		return err
	}
	return f.conclude(m)
}

// plan lists the links.
func (f *goodputFlags) plan() (*model.Contrast, error) {
	m := &model.Contrast{Format: model.FormatVersion, Version: version(), Commit: commit(), Command: commandLine(), Seed: f.seed, Impls: [2]string{dut.Name, f.impl}}
	impl, ok := all.Find(f.impl)
	switch {
	case !ok:
		return nil, fmt.Errorf("--impl %.60q: unknown; known: %s", f.impl, strings.Join(all.Names(), " "))
	case !slices.Contains(impl.Declares(), "rc"):
		return nil, fmt.Errorf("--impl %s: it is no reliable connection, so nothing compares; see list impls", f.impl)
	}
	if f.count < 1 || f.singles < 1 || f.depth < 1 {
		return nil, fmt.Errorf("--count %d, --singles %d, --depth %d: want 1 or more", f.count, f.singles, f.depth)
	}
	rate, err := unit.ParseRate(f.rate)
	if err != nil || rate == 0 {
		return nil, fmt.Errorf("--rate %.60q: want a rate such as 50M, and a limit", f.rate)
	}
	if port, err := unit.ParseRate(f.port); err != nil || port < rate {
		return nil, fmt.Errorf("--port %.60q: want a rate, not below that of the line, %s", f.port, rate)
	}
	m.Rate = int64(rate)
	for _, rtt := range f.rtts {
		d, err := vtime.ParseDuration(rtt)
		if err != nil {
			return nil, fmt.Errorf("--rtt %.60q: %w", rtt, err)
		}
		for _, loss := range f.losses {
			p, err := unit.ParseRatio(loss)
			if err != nil {
				return nil, fmt.Errorf("--loss %.60q: %w", loss, err)
			}
			m.Rows = append(m.Rows, model.ContrastRow{RTTNs: int64(d / vtime.Nanosecond), Loss: float64(p)})
		}
	}
	if len(m.Rows) == 0 {
		return nil, fmt.Errorf("--rtt and --loss: want one of each or more, such as --rtt 10ms --loss 0,1e-3")
	}
	s, err := f.spec(m, &m.Rows[0], streamed)
	if err != nil {
		return nil, err
	}
	m.Conditions = fmt.Sprintf("line of %s, messages of %s in packets of %d bytes, %d outstanding (one for FCT), time-out %s",
		rate, f.msg, s.QP[0].MTU, f.depth, quantity.Duration(int64(s.QP[0].Timeout.Duration()/vtime.Nanosecond)))
	return m, nil
}

// The two runs of each side over each link: many messages for goodput, and one at a time for FCT.
const (
	streamed = "stream"
	alone    = "single"
)

// spec is a run of soft-RoCE's peer as much as of soft-RoCE: neither knows of the other. Code 14, 67 ms, is the time-out that
// perftest takes by itself; the queue holds what both may have outstanding.
func (f *goodputFlags) spec(m *model.Contrast, r *model.ContrastRow, kind string) (*scenario.Spec, error) {
	count, depth := f.count, f.depth
	if kind == alone {
		count, depth = f.singles, 1
	}
	text := fmt.Sprintf("seed %d\nlink rate=%d delay=%dns queue=2000 port=%s\nqp timeout=14 qd=%d\nload write msg=%s count=%d\n",
		f.seed, m.Rate, r.RTTNs/2, f.port, depth, f.msg, count)
	if r.Loss > 0 {
		text += fmt.Sprintf("loss random p=%g\n", r.Loss)
	}
	return scenario.Parse(strings.NewReader(text))
}

// runAll fills the rows.
func (f *goodputFlags) runAll(ctx context.Context, m *model.Contrast) error {
	b, err := findBench("lab", "")
	if err != nil {
		return err
	}
	known, err := waivers.Read(dut.Name)
	if err != nil {
		return broken(err)
	}
	bar := newProgress(os.Stderr, !f.quiet)
	defer bar.done()
	for i := range m.Rows {
		r := &m.Rows[i]
		for _, kind := range []string{streamed, alone} {
			for side := range r.Sides {
				done, err := f.runOne(ctx, b, known, m, r, side, kind)
				if err != nil {
					return broken(fmt.Errorf("lab: goodput: %s: %w", f.name(m, r, side, kind), err))
				}
				bar.say(f.name(m, r, side, kind) + ": " + done.Status)
				*r.Sides[side].Of(kind == alone) = *done
			}
		}
	}
	m.Settle()
	return nil
}

// name names a run, in messages and as a folder.
func (f *goodputFlags) name(m *model.Contrast, r *model.ContrastRow, side int, kind string) string {
	return fmt.Sprintf("rtt-%s-loss-%g/%s-%s", vtime.Duration(r.RTTNs)*vtime.Nanosecond, r.Loss, m.Impls[side], kind)
}

// runOne makes a run, of the device (side 0) or of the engine.
func (f *goodputFlags) runOne(ctx context.Context, b bench.Bench, known []rule.Waiver, m *model.Contrast, r *model.ContrastRow, side int, kind string) (*model.ContrastRun, error) {
	given, err := f.spec(m, r, kind)
	if err != nil {
		return nil, err
	}
	job, err := pairJob(b, given)
	if err != nil {
		return nil, err
	}
	if side == 1 {
		impl, _ := all.Find(f.impl) // it is there, plan has asked
		job = &conformJob{job.spec, b, [2]engine.Implementation{impl, impl}}
		job.spec.Impl = [2]string{impl.Name, impl.Name}
	}
	var reader *datasheet.Reader
	o := run.Options{Spec: job.spec, Bench: job.bench, Name: "lab", Impls: job.impls, Rules: rules.All(), Codec: run.CodecOn, Link: "netem",
		Command: m.Command, Version: m.Version, Commit: m.Commit, Waivers: known, Several: true,
		Watch: func(h *trace.Header) trace.Viewer { reader = datasheet.NewReader(h); return reader }}
	if side == 0 {
		o.Subjects = subjects(asBoth)
	}
	if f.out != "" {
		o.Folder = filepath.Join(f.out, f.name(m, r, side, kind))
	}
	result, err := run.Execute(ctx, o)
	if err != nil {
		return nil, err
	}
	m.Kernel = run.Device(result).Kernel
	return contrastRun(result, reader), nil
}

// contrastRun is what a run showed. The requester is at A.
func contrastRun(r *model.Result, reader *datasheet.Reader) *model.ContrastRun {
	out := &model.ContrastRun{Status: r.Status, Reason: r.Reason, Summary: r.Summary}
	for _, v := range r.Verdicts {
		if v.Status == rule.Fail && v.Required {
			out.Broken = append(out.Broken, v.Rule)
		}
	}
	if found := reader.Findings(datasheet.DeviceA); found != nil {
		out.Reasons = found.Reasons()
	}
	return out
}

// conclude prints the table and writes the page.
func (f *goodputFlags) conclude(m *model.Contrast) error {
	if f.html != "" {
		if err := writeFile(f.html, func(w io.Writer) error { return html.Contrast(w, m) }); err != nil {
			return broken(err)
		}
	}
	var err error
	if f.json {
		err = encode(os.Stdout, m)
	} else {
		err = terminal.Contrast(os.Stdout, m, terminal.Options{Color: colored(f.color, os.Stdout)})
	}
	switch {
	case err != nil:
		return broken(err)
	case m.Status == rule.Pass.String():
		return nil
	case m.Status == rule.Fail.String():
		return exit{code: exitFailure}
	}
	return exit{code: exitBroken}
}
