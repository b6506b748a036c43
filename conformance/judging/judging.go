// Package judging plays a Spec on a bench and judges its trace by rules: the shortest way from an implementation to
// verdicts. A Go test that checks an engine needs Simulate and the list of package rules; see its example.
//
// A Run leaves every choice open: the bench, two different implementations, and further consumers of the trace. The
// conformance suite, the tests of broken engines, the ladders and the program's own pipeline all use it.
//
// The package writes no files, measures nothing and applies no waivers. Run folders, metrics and reports are made by
// the caller, which gets the trace through Run.Sink.
package judging

import (
	"context"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/sim"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// Run is a job on a bench, and the rules that judge its trace. Call Check, then Play once.
type Run struct {
	Job   *bench.Job // from bench.NewJob, with the options of the bench; Play sets Open
	Bench bench.Bench
	Rules []rule.Rule

	// Sink returns the sink of the trace. It must pass the whole trace to the judge through a trace.Timeline, and may
	// pass it to other consumers. Nil passes it to the judge alone, on the goroutine of the bench.
	Sink func(h trace.Header, judge trace.Viewer) (trace.Sink, error)
}

// Waiter is a Sink that may lag behind the bench. Play calls Wait before it asks the judge for verdicts, and returns
// the error of Wait when the bench has none.
type Waiter interface {
	trace.Sink
	Wait() error
}

// Simulate plays a Spec in virtual time with the same implementation at both ends, every packet encoded, and judges its
// trace. The outcome covers the run up to its end, also with an error, such as sim.ErrLimit for an engine that never
// finishes; it is nil when the run did not begin.
func Simulate(ctx context.Context, spec *scenario.Spec, impl engine.Implementation,
	rules []rule.Rule) (*Outcome, error) {
	job, err := bench.NewJob(spec, [2]engine.Implementation{impl, impl})
	if err != nil {
		return nil, err
	}
	job.Bytes = true
	r := Run{Job: job, Bench: sim.Bench{}, Rules: rules}
	if err := r.Check(); err != nil {
		return nil, err
	}
	return r.Play(ctx)
}

// Check returns an error if the bench cannot play the job; it may be bench.ErrUnsupported. Check creates nothing.
func (r *Run) Check() error {
	if c, ok := r.Bench.(bench.Checker); ok {
		return c.Check(r.Job)
	}
	return nil
}

// Play plays a Run, and judges its trace. The outcome is never nil; it covers the run up to its end, also with an
// error. It has no verdicts when the bench failed before the trace began.
func (r *Run) Play(ctx context.Context) (*Outcome, error) {
	var judge *rule.Judge
	var sink trace.Sink
	r.Job.Open = func(h trace.Header) (_ trace.Sink, err error) {
		seated := rule.NewJudge(h, r.Rules, r.declared())
		if sink, err = r.open(h, seated); err == nil {
			judge = seated
		}
		return sink, err
	}
	evidence, err := r.Bench.Run(ctx, r.Job)
	if w, ok := sink.(Waiter); ok {
		err = bench.Graver(err, w.Wait())
	}
	o := &Outcome{Features: r.declared().Features}
	if evidence != nil {
		o.Evidence = *evidence
	}
	if judge != nil {
		o.Verdicts = judge.Verdicts()
	}
	Invalidate(o.Verdicts, o.Evidence.Certificates, err)
	return o, err
}

// open returns the sink of the trace.
func (r *Run) open(h trace.Header, judge *rule.Judge) (trace.Sink, error) {
	if r.Sink != nil {
		return r.Sink(h, judge)
	}
	return trace.NewTimeline(&h, judge), nil
}

// declared returns the options of the Judge.
func (r *Run) declared() rule.Options {
	o := Declared(r.Job.Impls, r.Job.Spec.Params)
	o.Orders = Orders(r.Job.Spec, r.Job.Impls)
	o.BlackBox = foreign(&r.Job.Impls[trace.A]) || foreign(&r.Job.Impls[trace.B])
	return o
}
