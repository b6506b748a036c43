// Package scenariotest runs ladder files: scenario text whose expected output is the packets, events and variables that
// an implementation must produce in virtual time.
//
// Every file runs at three start PSNs, 0, 2^23-2 and 2^24-3, and must give the same text, because ladders print PSNs
// relative to the start. Ladders over-specify on purpose: they are for this project's own engines, where a change of
// behaviour should show up as a change of text.
package scenariotest

import (
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/sim"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// Starts are the PSNs at which every ladder must look the same: plain, across the sign change, across the wrap.
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

// runner is one file in progress.
type runner struct {
	spec  *scenario.Spec
	impl  engine.Implementation
	start psn.PSN
	world *sim.World
	trace trace.Collector
}

// command runs one block of a file. Blocks other than run and vars are scenario statements.
func (r *runner) command(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	switch d.Cmd {
	case "run":
		return r.run(d)
	case "vars":
		return r.vars()
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

// statement puts the command of a block back together.
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
	var err error
	r.world, err = sim.New(r.spec, [2]engine.Implementation{r.impl, r.impl}, sim.Options{Bytes: true, Sink: &r.trace, Steps: 1_000_000})
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	var out strings.Builder
	failure := r.world.Run()
	h := r.world.Header()
	if err := trace.Ladder(&out, &h, r.trace.Records, r.trace.Events, trace.LadderOptions{AllEvents: detail}); err != nil {
		return "error: " + err.Error() + "\n"
	}
	if failure != nil {
		fmt.Fprintf(&out, "error: %v\n", failure)
	}
	return out.String()
}

// vars prints the variables of both ends, one line each.
func (r *runner) vars() string {
	var out strings.Builder
	for side := trace.A; side <= trace.B; side++ {
		fmt.Fprintf(&out, "%s:", side)
		for _, v := range r.world.Endpoint(side).Vars(0) {
			if v.IsPSN {
				fmt.Fprintf(&out, " %s=+%d", v.Name, psn.New(uint32(v.Value)).Sub(r.start))
			} else {
				fmt.Fprintf(&out, " %s=%d", v.Name, v.Value)
			}
		}
		out.WriteString("\n")
	}
	return out.String()
}
