// Package run plays a Spec on a bench, has it judged and measured, and leaves a result and a run folder.
//
// A run folder is the unit of evidence. It holds spec.txt, result.json, trace.ndjson, verdicts.json, report.html,
// junit.xml, summary.md, rulebook.html about the rules that are broken, and on real benches taps/*.pcapng and logs.
// Each file is written as early as it can be, so that a run that dies leaves what it had.
package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/rdma-gauntlet/gauntlet/conformance/judging"
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/waivers"
	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/certify"
	"github.com/rdma-gauntlet/gauntlet/perf/metrics"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// Options configure Execute.
type Options struct {
	Spec   *scenario.Spec
	Bench  bench.Bench
	Name   string // of the bench, such as "sim" or "netns"
	Impls  [2]engine.Implementation
	Rules  []rule.Rule
	Folder string // run folder, made if it does not exist; "" keeps nothing
	// chooses the run folder, in place of Folder, once the Spec is final; may be nil
	Keep    func(*scenario.Spec) string
	Codec   Codec
	Link    string         // "auto", "netem", "ebpf" or "relay"
	Still   vtime.Duration // see bench.Job.NoProgress; 0 for the default
	Idle    float64        // see bench.Job.Idle; 0 for the bench's own limit
	Taps    bool           // in virtual time, keep captures too; other benches always do
	Dilate  vtime.Dilation // real benches: real seconds per second of the Spec; 0 leaves the choice to the bench
	Least   vtime.Dilation // the least dilation that the bench may choose, see Try
	Store   int            // packet records kept in trace.ndjson; 0 takes DefaultStore
	Command string         // for the report: the command that repeats the run
	Version string         // of the tool
	Commit  string

	Earlier []model.Attempt // attempts before this one, see Attempts

	Waivers []waivers.Waiver
	// the names that waivers must match; without names, the implementations, also as NAME-requester at A and
	// NAME-responder at B
	Subjects []string
	Several  bool // the run is one of several: that a waived rule passes in it says nothing against the waiver

	Progress func(share float64, what string)
	Chosen   func(what string) // see bench.Job.Chosen; may be nil

	// Explain returns the text about rules for rulebook.html, the page of a run that breaks some; may be nil.
	Explain func(ids []string) (*model.Rulebook, error)

	// Watch returns a further viewer of the trace, beside rules and metrics; may be nil.
	Watch func(h *trace.Header) trace.Viewer
}

// DefaultStore is the default limit of packet records in trace.ndjson: about 60 MB. Rules and metrics see every packet
// whatever the limit.
const DefaultStore = 200_000

// Codec selects whether the virtual-time bench encodes packets.
type Codec string

// Auto encodes packets when fewer than autoPackets are expected, or when the Spec or an implementation needs bytes.
const (
	CodecAuto Codec = "auto"
	CodecOn   Codec = "on"
	CodecOff  Codec = "off"
)

const autoPackets = 1_000_000

// Refused is the error of a run that did not begin. Only those fields of its result are valid that follow from the
// options.
type Refused struct{ error }

// Unwrap returns the cause.
func (r *Refused) Unwrap() error { return r.error }

// Execute runs a Spec and judges it. The result is complete as far as the run got, also when the error is not nil. A
// fault of an endpoint (bench.Fault) is no error: the result is then a FAIL with the reason. Execute first asks the
// bench whether it can run the Spec on this machine; if it cannot, the error is Refused and no folder is made.
func Execute(ctx context.Context, o Options) (*model.Result, error) {
	started := time.Now()
	p := &pipeline{options: &o}
	play, err := o.prepare(p)
	r := newResult(&o, started)
	if err != nil {
		settle(r, err)
		return r, &Refused{err}
	}
	r.Warnings = append(r.Warnings, play.Job.Notes...)
	outcome, err := play.Play(ctx)
	err = p.close(r, outcome, err)
	r.Wall = time.Since(started).Seconds()
	settle(r, err)
	if bench.FaultOf(err) != nil {
		err = nil // the result names the fault, or says INVALID when the link may have been the cause
	}
	if finishErr := p.folder.finish(r, o.Explain); err == nil && finishErr != nil {
		err = finishErr
		settle(r, err)
	}
	return r, err
}

// prepare lets the implementations choose their attributes, asks the bench, and opens the run folder, in this order.
// From then on o.Spec includes the chosen attributes.
func (o *Options) prepare(p *pipeline) (*judging.Run, error) {
	job, err := bench.NewJob(o.Spec, o.Impls)
	if err != nil {
		return nil, err
	}
	o.Spec = job.Spec
	if o.Keep != nil {
		o.Folder = o.Keep(o.Spec)
	}
	job.Bytes, job.Link, job.NoProgress, job.Progress = o.codec(), o.Link, o.Still, o.Progress
	job.Dilation, job.Least, job.Chosen, job.Idle = o.Dilate, o.Least, o.Chosen, o.Idle
	play := &judging.Run{Job: job, Bench: guarded{o.Bench}, Rules: o.Rules, Sink: p.open}
	if err := play.Check(); err != nil {
		return nil, err
	}
	p.folder, err = o.openFolder()
	job.Taps = p.folder.sub("taps")
	return play, err
}

// openFolder opens the run folder and writes the Spec.
func (o *Options) openFolder() (*folder, error) {
	f, err := openFolder(o.Folder)
	if err != nil {
		return nil, err
	}
	return f, f.write("spec.txt", []byte(o.Spec.String()))
}

// guarded is a bench that returns a panic of an engine as an error, so that it breaks one run and not a whole matrix.
type guarded struct{ bench.Bench }

// Check implements bench.Checker.
func (g guarded) Check(job *bench.Job) error {
	if c, ok := g.Bench.(bench.Checker); ok {
		return c.Check(job)
	}
	return nil
}

// Run implements bench.Bench.
func (g guarded) Run(ctx context.Context, job *bench.Job) (ev *bench.Evidence, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = broken(p, debug.Stack())
		}
	}()
	return g.Bench.Run(ctx, job)
}

// codec reports whether packets are encoded.
func (o *Options) codec() bool {
	switch o.Codec {
	case CodecOn:
		return true
	case CodecOff:
		return false
	}
	return o.Impls[0].NeedsBytes || o.Impls[1].NeedsBytes || len(o.Spec.Faults)+len(o.Spec.Injections) > 0 ||
		o.Spec.Turns.Taken() || ExpectedPackets(o.Spec, o.Impls) < autoPackets
}

// ExpectedPackets estimates the packets of a loss-free run of the Spec: those that the loads ask for or, of a run with
// a time limit and where that is more, those that the line carries in the time, but at most full send queues once per
// round trip. A middlebox near A answers for the far end, and the round trip then limits nothing.
func ExpectedPackets(s *scenario.Spec, impls [2]engine.Implementation) float64 {
	total, window := 0.0, 0.0
	for _, l := range s.Loads {
		each := float64(s.QPs) * float64(s.QP[0].Packets(uint32(l.Mean())))
		total += float64(l.Count) * each
		window += float64(s.QP[0].QueueDepth) * each
	}
	one := s.Link.AB.Rate.Time(linePacket(s))
	if s.For > 0 && one > 0 {
		line := float64(s.For) / float64(one)
		if rtt := s.RTT(); rtt > 0 && window > 0 && impls[0].NewBox == nil {
			line = min(line, (float64(s.For)/float64(rtt)+1)*window)
		}
		total = max(total, line)
	}
	return total
}

// linePacket returns the mean layer-1 bytes of a data packet: messages below the MTU make small ones.
func linePacket(s *scenario.Spec) int {
	packets, bytes := 0, 0
	for _, l := range s.Loads {
		n := uint32(l.Mean())
		packets, bytes = packets+s.QP[0].Packets(n), bytes+s.QP[0].LineBytes(n)
	}
	if packets == 0 {
		return s.QP[0].MTU + roce.Overhead
	}
	return bytes / packets
}

// newResult returns a result with everything known before the run.
func newResult(o *Options, started time.Time) *model.Result {
	return &model.Result{
		Format: model.FormatVersion, Version: o.Version, Commit: o.Commit, Started: started.UTC().Format(time.RFC3339),
		Summary: metrics.Summary{Work: metrics.Unbegun(Measured(o.Spec).Orders)}, Command: o.Command, Bench: o.Name,
		Impl: o.Spec.Impl, Spec: o.Spec.String(), SpecHash: o.Spec.Hash(),
		Seed: o.Spec.Seed, Folder: o.Folder, Warnings: append(o.Spec.Warnings(), o.repeated()...),
		Status: rule.Error.String(), Earlier: o.Earlier,
	}
}

// settle sets the status of the run, the reason and the fault.
func settle(r *model.Result, err error) {
	status, reason := judging.Settle(r.Verdicts, r.Certificates, err)
	status, reason = idle(r, status, reason)
	r.Status, r.Reason, r.Fault, r.State = status.String(), reason, nil, certify.State(r.Certificates)
	// otherwise a link that was not as the Spec says may be the cause
	if f := bench.FaultOf(err); f != nil && status == rule.Fail {
		r.Fault = &model.Fault{Side: f.Side.String(), Program: f.Program, What: f.Error(), Rests: f.Rests}
	}
}

// ExitCode is the process exit code for a result.
func ExitCode(r *model.Result) int { return model.ExitCode(r.Status) }

// rates returns the line rates by direction, for utilisation.
func rates(s *scenario.Spec) [2]unit.Rate { return [2]unit.Rate{s.Link.AB.Rate, s.Link.BA.Rate} }

// Measured returns the options of the metrics for a Spec.
func Measured(s *scenario.Spec) metrics.Options {
	o := metrics.Options{Rates: rates(s), Timed: s.For > 0}
	for side := range o.Orders {
		w := s.Ordered(trace.Side(side))
		o.Orders[side] = metrics.Order{Requests: w.Requests, Silent: w.Silent, Endless: w.Endless}
	}
	if s.Flowing() {
		o.Ideal = s.Ideal
	}
	return o
}

// pipeline receives the trace of a bench: over a belt to the judge, to the metrics and to the stored trace.
type pipeline struct {
	options *Options
	folder  *folder
	metrics *metrics.Collector
	store   *store
	taps    captures
	struck  struck
	belt    *belt
}

// open builds the pipeline once the bench has the header of its trace.
func (p *pipeline) open(h trace.Header, judge trace.Viewer) (trace.Sink, error) {
	o := p.options
	p.metrics = metrics.NewCollector(&h, Measured(o.Spec))
	var err error
	if p.store, err = p.folder.trace(h, cmp.Or(o.Store, DefaultStore)); err != nil {
		return nil, err
	}
	views := trace.Views{judge, p.metrics}
	if o.Watch != nil {
		views = append(views, o.Watch(&h))
	}
	if o.Taps && p.folder != nil && o.Name == "sim" {
		if p.taps, err = openTaps(p.folder, &h); err != nil {
			return nil, err
		}
		views = append(views, p.taps.Views...)
	}
	p.struck.by = map[string]bool{}
	timeline := trace.NewTimeline(&h, views)
	p.belt = newBelt(tee{timeline, tee{p.store, &p.struck}}, timeline)
	return p.belt, nil
}

// close moves what the pipeline collected into the result. It returns the graver of err and its own errors.
func (p *pipeline) close(r *model.Result, o *judging.Outcome, err error) error {
	take(r, &o.Evidence)
	if p.belt != nil {
		err = bench.Graver(err, cmp.Or(p.store.close(), p.taps.close()))
		r.Verdicts = o.Verdicts
		p.fill(r)
		r.Processor = model.NewProcessor(o.Evidence.Processor, r.PayloadBytes)
		err = bench.Graver(err, drawLadders(r, p.folder))
	}
	var stack *panicked
	if errors.As(err, &stack) {
		_ = p.folder.write("panic.txt", stack.stack) // the message is in the result
	}
	return err
}

// fill copies summary, timeline and warnings of the pipeline into the result, and waives verdicts.
func (p *pipeline) fill(r *model.Result) {
	waive := waivers.Apply
	if p.options.Several {
		waive = waivers.Excuse
	}
	device := Device(r)
	if names := p.options.Subjects; len(names) > 0 {
		device.Names = names
	}
	waive(r.Verdicts, p.options.Waivers, device, Today())
	r.Summary, r.Timeline, r.Sequences = p.metrics.Summary(), p.metrics.Timeline(), p.metrics.Sequences()
	r.Warnings = append(r.Warnings, p.struck.missed(p.options.Spec)...)
	if s := p.store; s.dropped > 0 && s.out != nil {
		r.Notes = append(r.Notes,
			fmt.Sprintf("trace.ndjson holds the first %d packet records of %d; rules and metrics saw all",
				s.kept, s.kept+s.dropped))
	}
}

// take copies a bench's evidence into the result.
func take(r *model.Result, ev *bench.Evidence) {
	r.Certificates = ev.Certificates
	r.Dilated, r.Stretches = int(ev.Dilation), ev.Stretches
	r.Notes = append(r.Notes, ev.Notes...)
	r.Environment = append(r.Environment, facts(ev.Environment)...)
	r.Counters, r.Shared = facts(ev.Counters), facts(ev.Shared)
	if ev.Incomplete != "" {
		r.Warnings = append(r.Warnings, ev.Incomplete)
	}
}

func facts(pairs [][2]string) []model.Fact {
	out := make([]model.Fact, len(pairs))
	for i, p := range pairs {
		out[i] = model.Fact{Name: p[0], Value: p[1]}
	}
	return out
}
