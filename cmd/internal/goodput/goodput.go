// Package goodput compares the kernel's soft-RoCE with an engine of this repository over the same links, and derives
// from the captures why their goodput and completion times differ. It runs on the bench lab.
package goodput

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/build"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/device"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/document"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/fault"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/registry"
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
)

// Options say what to compare, over which links. Values with a unit are text as the user wrote it.
type Options struct {
	Impl    string   // name of the engine that is compared with soft-RoCE
	Rate    string   // of the line, at layer 1
	Port    string   // rate of the engine's port into the link
	Message string   // size
	RTTs    []string // round-trip propagation delays
	Losses  []string // loss probabilities of each direction
	Seed    uint64   // of every run
	Count   int      // messages per run for goodput
	Singles int      // messages per run for completion times
	Depth   int      // outstanding messages in a run for goodput
	Folder  string   // holds a run folder with captures for each run; "" keeps none
	Command string   // for the report: the command that repeats the comparison
}

// Comparison is the plan of the runs.
type Comparison struct {
	options  Options
	contrast *model.Contrast // the rows, which Run fills
	bench    bench.Bench
	known    []waivers.Waiver // waivers of soft-RoCE
}

// New checks the options and lists the links. The error is the user's.
func New(o Options) (*Comparison, error) {
	m := &model.Contrast{Format: model.FormatVersion, Version: build.Version(), Commit: build.Commit(),
		Command: o.Command, Seed: o.Seed, Impls: [2]string{dut.Name, o.Impl}}
	c := &Comparison{options: o, contrast: m}
	if err := o.check(); err != nil {
		return nil, err
	}
	rate, err := o.rate()
	if err != nil {
		return nil, err
	}
	m.Rate = int64(rate)
	if m.Rows, err = o.links(); err != nil {
		return nil, err
	}
	s, err := c.spec(one{row: &m.Rows[0], kind: streamed})
	if err != nil {
		return nil, err
	}
	m.Conditions = fmt.Sprintf(
		"line of %s, messages of %s in packets of %d bytes, %d outstanding (one for FCT), time-out %s", rate, o.Message,
		s.QP[0].MTU, o.Depth, quantity.Duration(int64(s.QP[0].Timeout.Duration()/vtime.Nanosecond)))
	return c, nil
}

// check checks the engine and the numbers of messages.
func (o *Options) check() error {
	impl, ok := all.Find(o.Impl)
	switch {
	case !ok:
		return fmt.Errorf("--impl %.60q: unknown; known: %s", o.Impl, strings.Join(all.Names(), " "))
	case !slices.Contains(impl.Declares(), "rc"):
		return fmt.Errorf("--impl %s: it is no reliable connection, so nothing compares; see list impls", o.Impl)
	case o.Count < 1 || o.Singles < 1 || o.Depth < 1:
		return fmt.Errorf("--count %d, --singles %d, --depth %d: want 1 or more", o.Count, o.Singles, o.Depth)
	}
	return nil
}

// rate parses the rate of the line, and checks that the port is not slower.
func (o *Options) rate() (unit.Rate, error) {
	rate, err := unit.ParseRate(o.Rate)
	if err != nil || rate == 0 {
		return 0, fmt.Errorf("--rate %.60q: want a rate such as 50M, and a limit", o.Rate)
	}
	if port, err := unit.ParseRate(o.Port); err != nil || port < rate {
		return 0, fmt.Errorf("--port %.60q: want a rate, not below that of the line, %s", o.Port, rate)
	}
	return rate, nil
}

// links returns a row for each combination of delay and loss.
func (o *Options) links() (rows []model.ContrastRow, err error) {
	for _, rtt := range o.RTTs {
		d, err := vtime.ParseDuration(rtt)
		if err != nil {
			return nil, fmt.Errorf("--rtt %.60q: %w", rtt, err)
		}
		for _, loss := range o.Losses {
			p, err := unit.ParseRatio(loss)
			if err != nil {
				return nil, fmt.Errorf("--loss %.60q: %w", loss, err)
			}
			rows = append(rows, model.ContrastRow{RTTNs: int64(d / vtime.Nanosecond), Loss: float64(p)})
		}
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("--rtt and --loss: want one of each or more, such as --rtt 10ms --loss 0,1e-3")
	}
	return rows, nil
}

// one identifies a run of a comparison.
type one struct {
	row  *model.ContrastRow
	side int    // 0 for the device, 1 for the engine
	kind string // streamed or alone
}

// The kinds of runs: many messages for goodput, and one at a time for FCT.
const (
	streamed = "stream"
	alone    = "single"
)

// spec returns the Spec of a run. It is the same for the device and the engine: both have the time-out that perftest
// sets, code 14, 67 ms, and the same queue depth.
func (c *Comparison) spec(r one) (*scenario.Spec, error) {
	o := &c.options
	count, depth := o.Count, o.Depth
	if r.kind == alone {
		count, depth = o.Singles, 1
	}
	text := fmt.Sprintf("seed %d\nlink rate=%d delay=%dns queue=2000 port=%s\nqp timeout=14 qd=%d\nload "+
		"write msg=%s count=%d\n",
		o.Seed, c.contrast.Rate, r.row.RTTNs/2, o.Port, depth, o.Message, count)
	if r.row.Loss > 0 {
		text += fmt.Sprintf("loss random p=%g\n", r.row.Loss)
	}
	return scenario.Parse(strings.NewReader(text))
}

// name returns the name of a run, in messages and of its folder.
func (c *Comparison) name(r one) string {
	return fmt.Sprintf("rtt-%s-loss-%g/%s-%s", vtime.Duration(r.row.RTTNs)*vtime.Nanosecond, r.row.Loss,
		c.contrast.Impls[r.side], r.kind)
}

// Run makes all runs and returns the comparison; it calls said after each. It must be called where the bench lab runs,
// in the guest.
func (c *Comparison) Run(ctx context.Context, said func(string)) (m *model.Contrast, err error) {
	if c.bench, err = registry.Open("lab", ""); err != nil {
		return nil, err
	}
	if c.known, err = waivers.Read(dut.Name); err != nil {
		return nil, fault.Broken(err)
	}
	m = c.contrast
	for i := range m.Rows {
		for _, kind := range []string{streamed, alone} {
			for side := range m.Rows[i].Sides {
				r := one{&m.Rows[i], side, kind}
				done, err := c.run(ctx, r)
				if err != nil {
					return nil, fault.Broken(fmt.Errorf("lab: goodput: %s: %w", c.name(r), err))
				}
				said(c.name(r) + ": " + done.Status)
				*r.row.Sides[side].Of(kind == alone) = *done
			}
		}
	}
	m.Settle()
	return m, nil
}

// job puts the device, or the engine, at both ends of a run.
func (c *Comparison) job(r one) (*device.Job, error) {
	given, err := c.spec(r)
	if err != nil {
		return nil, err
	}
	job, err := device.Pair(c.bench, given)
	if err != nil || r.side == 0 {
		return job, err
	}
	impl, _ := all.Find(c.options.Impl) // check has found it
	job.Spec.Impl = [2]string{impl.Name, impl.Name}
	return &device.Job{Spec: job.Spec, Bench: c.bench, Impls: [2]engine.Implementation{impl, impl}}, nil
}

// run makes one run.
func (c *Comparison) run(ctx context.Context, r one) (*model.ContrastRun, error) {
	job, err := c.job(r)
	if err != nil {
		return nil, err
	}
	m := c.contrast
	var reader *datasheet.Reader
	o := run.Options{Spec: job.Spec, Bench: job.Bench, Name: "lab", Impls: job.Impls, Rules: rules.All(),
		Codec: run.CodecOn, Link: "netem",
		Command: m.Command, Version: m.Version, Commit: m.Commit, Waivers: c.known, Several: true,
		Watch: func(h *trace.Header) trace.Viewer { reader = datasheet.NewReader(h); return reader }}
	if r.side == 0 {
		o.Subjects = device.Subjects(device.Both)
	}
	if c.options.Folder != "" {
		o.Folder = filepath.Join(c.options.Folder, c.name(r))
	}
	result, err := run.Execute(ctx, o)
	if err != nil {
		return nil, err
	}
	m.Kernel = run.Device(result).Kernel
	return contrastRun(result, reader), nil
}

// contrastRun returns the results of a run, with the reasons for the goodput of its requester, at A.
func contrastRun(r *model.Result, reader *datasheet.Reader) *model.ContrastRun {
	out := &model.ContrastRun{Status: r.Status, Reason: r.Reason, State: r.State, Summary: r.Summary}
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

// Write writes the page of a contrast to a file; "" writes nothing.
func Write(m *model.Contrast, page string) error {
	if page == "" {
		return nil
	}
	return document.File(page, func(w io.Writer) error { return html.Contrast(w, m) })
}
