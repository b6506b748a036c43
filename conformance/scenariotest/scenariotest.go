// Package scenariotest runs ladder files: scenario text with the packets, events and variables that an implementation
// must produce in virtual time.
//
// Every file runs at three start PSNs, 0, 2^23-2 and 2^24-3, and must give the same text, because ladders print PSNs
// relative to the start. Ladders over-specify on purpose: they are for this project's own engines, where a change of
// behaviour should show up as a change of text.
//
// A block is scenario text, or one of:
//
//	run [detail] [for=…]   plays the scenario and draws it; detail adds placements, timers and counters
//	vars [NAME…]           prints the engines' variables of connection 0, all or those named
//	judge [RULE…]          prints the verdicts on the run: of the rules named, and of every rule that failed
package scenariotest

import (
	"context"
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/rdma-gauntlet/gauntlet/conformance/judging"
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules"
	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/sim"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/trace/ladder"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Starts are the start PSNs at which every ladder must be the same: zero, before the sign change of serial arithmetic,
// and before the wrap.
var Starts = []psn.PSN{0, psn.Half - 2, psn.Mask - 2}

// Run runs every ladder file below dir against impl.
func Run(t *testing.T, impl engine.Implementation, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("scenariotest: no ladder files in %s", dir)
	}
	for _, start := range Starts {
		if start != 0 && rewriting() {
			continue // a golden is written from start 0; the other starts check it
		}
		for _, file := range files {
			name := strings.TrimSuffix(filepath.Base(file), ".txt")
			t.Run(fmt.Sprintf("start=%d/%s", start, name), func(t *testing.T) {
				r := &runner{spec: scenario.Default(), impl: impl, start: start}
				datadriven.RunTest(t, file, r.command)
			})
		}
	}
}

func rewriting() bool {
	f := flag.Lookup("rewrite")
	return f != nil && f.Value.String() == "true"
}

// runner is the state of one file.
type runner struct {
	spec   *scenario.Spec
	impl   engine.Implementation
	start  psn.PSN
	world  *sim.World
	trace  trace.Collector
	judged trace.Sink // passes the run to the rules
	played *judging.Outcome
}

// Packet implements trace.Sink.
func (r *runner) Packet(p *trace.Record) {
	r.trace.Packet(p)
	r.judged.Packet(p)
}

// Event implements trace.Sink. Reports of the harness about itself go to the rules but not into the drawing: memory
// regions, and comparisons of memory without errors.
func (r *runner) Event(e *trace.Event) {
	if e.Kind != trace.Probe && (e.Kind != trace.Memory || e.Value != 0) {
		r.trace.Event(e)
	}
	r.judged.Event(e)
}

// End implements trace.Sink.
func (r *runner) End(at vtime.Time) { r.judged.End(at) }

// steps bounds the events of a run; a longer one is too long to draw.
const steps = 1_000_000

// stage is the simulator as a bench for ladders: the runner keeps its world, for the variables of the engines, and sees
// the trace before the rules.
type stage struct{ *runner }

// Run implements bench.Bench.
func (s stage) Run(_ context.Context, job *bench.Job) (ev *bench.Evidence, err error) {
	w, err := sim.New(job.Spec, job.Impls, sim.Options{Bytes: job.Bytes, Sink: s.runner, Steps: steps})
	if err != nil {
		return nil, err
	}
	if s.judged, err = job.Open(w.Header()); err != nil {
		return nil, err
	}
	s.world = w
	return nil, w.Run()
}

// command runs one block of a file. Blocks other than run and vars are scenario statements.
func (r *runner) command(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	switch d.Cmd {
	case "run":
		return r.run(d)
	case "vars":
		return r.vars(d)
	case "judge":
		return r.judge(d)
	}
	lines := []string{statement(d)}
	lines = append(lines, strings.Split(d.Input, "\n")...)
	for _, l := range lines {
		if err := r.spec.Line(l); err != nil {
			return "error: " + err.Error() + "\n"
		}
	}
	return ""
}

// statement returns the command line of a block.
func statement(d *datadriven.TestData) string {
	words := []string{d.Cmd}
	for _, a := range d.CmdArgs {
		words = append(words, a.String())
	}
	return strings.Join(words, " ")
}

// run plays the scenario and draws it. "run detail" draws placements, timers and counters too.
func (r *runner) run(d *datadriven.TestData) string {
	r.spec.Start(r.start)
	detail := false
	for _, a := range d.CmdArgs {
		if detail = a.Key == "detail"; detail {
			r.spec.Reads.Detail = true
		} else if err := r.spec.Line("run " + a.String()); err != nil {
			return "error: " + err.Error() + "\n"
		}
	}
	if err := r.spec.Validate(); err != nil {
		return "error: " + err.Error() + "\n"
	}
	job, err := bench.NewJob(r.spec, [2]engine.Implementation{r.impl, r.impl})
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	job.Bytes = true
	play := judging.Run{Job: job, Bench: stage{r}, Rules: rules.All()}
	if err := play.Check(); err != nil {
		return "error: " + err.Error() + "\n"
	}
	r.world = nil
	outcome, failure := play.Play(context.Background())
	if r.world == nil { // the run did not begin
		return "error: " + failure.Error() + "\n"
	}
	r.played = outcome
	return r.draw(detail, failure)
}

// draw draws the run, with the error that ended it, if any.
func (r *runner) draw(detail bool, failure error) string {
	var out strings.Builder
	h := r.world.Header()
	if err := ladder.Draw(&out, &h, r.trace.Records, r.trace.Events, ladder.Options{AllEvents: detail}); err != nil {
		return "error: " + err.Error() + "\n"
	}
	if failure != nil {
		fmt.Fprintf(&out, "error: %v\n", failure)
	}
	return out.String()
}

// vars prints the variables of both ends, one line each.
func (r *runner) vars(d *datadriven.TestData) string {
	if r.world == nil {
		return "error: vars: nothing has run yet\n"
	}
	var out strings.Builder
	for side := trace.A; side <= trace.B; side++ {
		fmt.Fprintf(&out, "%s:", side)
		for _, v := range r.world.Endpoint(side).Vars(0) {
			switch {
			case len(d.CmdArgs) > 0 && !d.HasArg(v.Name):
			case v.IsPSN:
				fmt.Fprintf(&out, " %s=+%d", v.Name, psn.New(uint32(v.Value)).Sub(r.start))
			default:
				fmt.Fprintf(&out, " %s=%d", v.Name, v.Value)
			}
		}
		out.WriteString("\n")
	}
	return out.String()
}

// judge prints one line per rule that was named or that failed, and one per finding.
func (r *runner) judge(d *datadriven.TestData) string {
	if r.world == nil {
		return "error: judge: nothing has run yet\n"
	}
	var out strings.Builder
	for _, v := range r.played.Verdicts {
		if v.Status != rule.Fail && v.Status != rule.Error && !d.HasArg(v.Rule) {
			continue
		}
		fmt.Fprintf(&out, "%s %s", v.Rule, v.Status)
		if v.Reason != "" {
			fmt.Fprintf(&out, " (%s)", v.Reason)
		}
		for _, f := range v.Findings {
			fmt.Fprintf(&out, "\n  %s us: %s (%s)", f.At.Micros(), f.Line(), f.Blame)
		}
		if n := v.More(); n > 0 {
			fmt.Fprintf(&out, "\n  … and %d more", n)
		}
		out.WriteString("\n")
	}
	return out.String()
}
