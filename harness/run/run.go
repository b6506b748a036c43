// Package run takes a Spec through a bench, the rules and the metrics to a result and a run folder.
//
// A run folder is the unit of evidence. It holds spec.txt, result.json, trace.ndjson, verdicts.json, report.html,
// junit.xml, summary.md and, on real benches, taps/*.pcapng and logs. What can be written early is written early, so
// that a run that dies leaves what it had.
package run

import (
	"context"
	"fmt"
	"time"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/perf/metrics"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// Options say how to run a Spec.
type Options struct {
	Spec    *scenario.Spec
	Bench   bench.Bench
	Name    string // of the bench: "sim", "netns"
	Impls   [2]engine.Implementation
	Rules   []rule.Rule
	Folder  string // run folder, made if it does not exist; "" keeps nothing
	Codec   Codec
	Link    string // "auto", "netem" or "relay"
	Store   int    // packet records kept in trace.ndjson; 0 takes DefaultStore
	Command string // for the report: how to repeat the run
	Version string // of the tool
	Commit  string

	Progress func(share float64, what string)
}

// DefaultStore bounds trace.ndjson: about 60 MB. Rules and metrics see every packet whatever the bound.
const DefaultStore = 200_000

// Codec says whether the virtual-time bench encodes packets.
type Codec string

// The choices. Auto encodes runs that are expected to stay below autoPackets.
const (
	CodecAuto Codec = "auto"
	CodecOn   Codec = "on"
	CodecOff  Codec = "off"
)

const autoPackets = 1_000_000

// Execute runs a Spec and judges it. The result is complete as far as the run got, also when an error comes with it.
func Execute(ctx context.Context, o Options) (*model.Result, error) {
	started := time.Now()
	r := newResult(&o, started)
	f, err := openFolder(o.Folder)
	if err != nil {
		return r, err
	}
	if err := f.write("spec.txt", []byte(o.Spec.String())); err != nil {
		return r, err
	}
	p := &pipeline{options: &o, folder: f}
	ev, err := o.Bench.Run(ctx, &bench.Job{Spec: o.Spec, Impls: o.Impls, Taps: f.sub("taps"), Bytes: o.codec(), Link: o.Link,
		Open: p.open, Progress: o.Progress})
	r.Wall = time.Since(started).Seconds()
	err = p.close(r, ev, err)
	settle(r, err)
	return r, f.finish(r, err)
}

// codec decides whether packets have bytes.
func (o *Options) codec() bool {
	switch o.Codec {
	case CodecOn:
		return true
	case CodecOff:
		return false
	}
	return len(o.Spec.Faults)+len(o.Spec.Injections) > 0 || ExpectedPackets(o.Spec) < autoPackets
}

// ExpectedPackets estimates how many packets a loss-free run of the Spec takes: what the load asks for, or what the line
// carries in the given time.
func ExpectedPackets(s *scenario.Spec) float64 {
	total := 0.0
	for _, l := range s.Loads {
		total += float64(l.Count) * float64(s.QPs) * float64(s.QP[0].Packets(uint32(l.Msg)))
	}
	if full := s.Link.AB.Rate.Time(s.QP[0].MTU + 82); s.For > 0 && full > 0 {
		total = max(total, float64(s.For)/float64(full))
	}
	return total
}

// newResult fills in what is known before the run.
func newResult(o *Options, started time.Time) *model.Result {
	return &model.Result{
		Format: model.FormatVersion, Version: o.Version, Commit: o.Commit, Started: started.UTC().Format(time.RFC3339),
		Command: o.Command, Bench: o.Name, Impl: o.Spec.Impl, Spec: o.Spec.String(), SpecHash: o.Spec.Hash(),
		Seed: o.Spec.Seed, Folder: o.Folder, Warnings: o.Spec.Warnings(), Status: rule.Error.String(),
	}
}

// settle gives the run its status: the worst verdict of a required rule; INVALID when the link or the capture was not
// what the Spec says; ERROR when the harness broke.
func settle(r *model.Result, err error) {
	worst := rule.Pass
	for _, v := range r.Verdicts {
		if v.Status == rule.Fail && !v.Required {
			continue
		}
		if v.Status == rule.Fail || v.Status >= rule.XPass {
			worst = max(worst, v.Status)
		}
	}
	for _, c := range r.Certificates {
		if !c.Valid {
			worst = max(worst, rule.Invalid)
			r.Reason = "link certificate: " + c.Reason
		}
	}
	if err != nil {
		worst, r.Reason = rule.Error, err.Error()
	}
	r.Status = worst.String()
}

// ExitCode is the process exit code for a result: 0 all required rules passed, 1 a failure, 3 INVALID or ERROR.
func ExitCode(r *model.Result) int {
	switch r.Status {
	case rule.Pass.String():
		return 0
	case rule.Invalid.String(), rule.Error.String():
		return 3
	}
	return 1
}

// rates returns the line rates by direction, for utilisation.
func rates(s *scenario.Spec) [2]unit.Rate { return [2]unit.Rate{s.Link.AB.Rate, s.Link.BA.Rate} }

// pipeline is where a bench's trace goes: judge and metrics through one timeline, and the stored trace.
type pipeline struct {
	options *Options
	folder  *folder
	judge   *rule.Judge
	metrics *metrics.Collector
	store   *store
}

// open builds the pipeline when the bench knows what its trace is like.
func (p *pipeline) open(h trace.Header) (trace.Sink, error) {
	o := p.options
	p.judge = rule.NewJudge(h, o.Rules, rule.Options{Features: features(o.Impls)})
	p.metrics = metrics.NewCollector(&h, metrics.Options{Rates: rates(o.Spec), Timed: o.Spec.For > 0})
	timeline := trace.NewTimeline(&h, both{p.judge, p.metrics})
	limit := o.Store
	if limit == 0 {
		limit = DefaultStore
	}
	var err error
	if p.store, err = p.folder.trace(h, limit); err != nil {
		return nil, err
	}
	return tee{timeline, p.store}, nil
}

// close turns what the pipeline saw into the result.
func (p *pipeline) close(r *model.Result, ev *bench.Evidence, err error) error {
	if ev != nil {
		fill(r, ev)
	}
	if p.judge == nil {
		return err
	}
	r.Verdicts = p.judge.Verdicts()
	r.Summary, r.Timeline, r.Sequences = p.metrics.Summary(), p.metrics.Timeline(), p.metrics.Sequences()
	if storeErr := p.store.close(); err == nil {
		err = storeErr
	}
	if p.store.dropped > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("trace.ndjson holds the first %d packet records of %d; rules and metrics saw all",
			p.store.kept, p.store.kept+p.store.dropped))
	}
	if ladderErr := drawLadders(r, p.folder); err == nil {
		err = ladderErr
	}
	return err
}

// fill takes a bench's evidence into the result.
func fill(r *model.Result, ev *bench.Evidence) {
	r.Certificates = ev.Certificates
	r.Notes = append(r.Notes, ev.Notes...)
	r.Environment = append(r.Environment, facts(ev.Environment)...)
	r.Counters = facts(ev.Counters)
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

// features is what both implementations declare, for rules that need one.
func features(impls [2]engine.Implementation) []string {
	if impls[0].Recover == impls[1].Recover {
		return []string{"rc", impls[0].Recover}
	}
	return []string{"rc"}
}
