package wrk_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/judging"
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules/wrk"
	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/sim"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/impls/all"
	brokengbn "github.com/rdma-gauntlet/gauntlet/impls/broken/gbn"
)

// evidence is a run as passed to a judge.
type evidence struct {
	trace.Collector
	header trace.Header
	opts   rule.Options
}

// record plays a Spec with one implementation at both ends and returns the evidence.
func record(t *testing.T, text string, impl engine.Implementation) *evidence {
	t.Helper()
	spec, err := scenario.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	impls := [2]engine.Implementation{impl, impl}
	job, err := bench.NewJob(spec, impls)
	if err != nil {
		t.Fatal(err)
	}
	job.Bytes = true
	e := &evidence{opts: judging.Declared(impls, spec.Params)}
	e.opts.Orders = judging.Orders(job.Spec, job.Impls)
	run := judging.Run{Job: job, Bench: sim.Bench{}, Sink: func(h trace.Header, _ trace.Viewer) (trace.Sink, error) {
		e.header = h
		return e, nil
	}}
	if _, err := run.Play(t.Context()); err != nil && !errors.Is(err, sim.ErrLimit) {
		t.Fatal(err)
	}
	return e
}

// failed returns the rules of the family that fail, with their first findings.
func (e *evidence) failed() map[string]string {
	j := rule.NewJudge(e.header, wrk.Rules(), e.opts)
	e.Play(trace.NewTimeline(&e.header, j))
	out := map[string]string{}
	for _, v := range j.Verdicts() {
		if v.Status == rule.Fail || v.Status == rule.Error {
			out[v.Rule] = fmt.Sprintf("%v %s %v", v.Status, v.Reason, v.Findings[:min(1, len(v.Findings))])
		}
	}
	return out
}

// without returns the evidence without the events of some kinds, and with these reports in the header.
func (e *evidence) without(reports trace.Reports, kinds ...trace.EventKind) *evidence {
	c := *e
	c.header.Reports &^= reports
	c.Events = slices.DeleteFunc(slices.Clone(e.Events), func(ev trace.Event) bool {
		return slices.Contains(kinds, ev.Kind)
	})
	return &c
}

// less is the ways in which evidence is removed.
var less = map[string]func(e *evidence) *evidence{
	"no posts": func(e *evidence) *evidence {
		return e.without(trace.ReportCQE, trace.Post, trace.CQE, trace.Receive, trace.Recv, trace.Fatal, trace.Timeout)
	},
	"no idle":   func(e *evidence) *evidence { return e.without(0, trace.Idle) },
	"no probes": func(e *evidence) *evidence { return e.without(trace.ReportProbes, trace.Probe, trace.Count) },
	"no memory": func(e *evidence) *evidence { return e.without(trace.ReportMemory, trace.Memory) },
	"only A":    func(e *evidence) *evidence { c := *e; c.header.Taps = [2]bool{true, false}; return &c },
	"only B":    func(e *evidence) *evidence { c := *e; c.header.Taps = [2]bool{false, true}; return &c },
	"no taps":   func(e *evidence) *evidence { c := *e; c.header.Taps = [2]bool{}; return &c },
	"no orders": func(e *evidence) *evidence { c := *e; c.opts.Orders = nil; return &c },
	"unknown": func(e *evidence) *evidence {
		c := *e
		c.header.Conns = slices.Clone(e.header.Conns)
		for i := range c.header.Conns {
			for side := range c.header.Conns[i].Ends {
				c.header.Conns[i].Ends[side].Known = false
			}
		}
		return &c
	},
	"first half": func(e *evidence) *evidence {
		c := *e
		if n := len(e.Records) / 2; n > 0 {
			c.Ended = e.Records[n].Time()
			c.Records = slices.Clone(e.Records[:n])
			c.Events = slices.DeleteFunc(slices.Clone(e.Events), func(ev trace.Event) bool { return ev.At > c.Ended })
		}
		return &c
	},
}

const lossy = "seed 5\nlink rate=1G delay=200us queue=1000\nloss random p=2e-2\nqp rto=20ms count=2 " +
	"qd=16\nreport detail\nload write msg=9000 count=20\nload send msg=3000 count=20\nload send " +
	"from=B msg=500 count=10\n"

// TestLessEvidenceAddsNoFailure removes evidence from runs of correct and broken engines: only rules that failed before
// may fail.
func TestLessEvidenceAddsNoFailure(t *testing.T) {
	for _, impl := range all.Implementations() {
		e := record(t, lossy, impl)
		if f := e.failed(); len(f) > 0 {
			t.Errorf("%s: %v", impl.Name, f)
		}
		lessOf(t, impl.Name, e)
	}
	f := brokengbn.Family()
	for i, v := range f.Variants {
		if testing.Short() && i%4 != 0 || !strings.HasPrefix(v.Catches[0], "WRK-") && i%5 != 0 {
			continue
		}
		text, err := f.Stimulus(v.Scenarios[0])
		if err != nil {
			t.Fatal(err)
		}
		lessOf(t, v.Name, record(t, text, v.Impl))
	}
}

func lessOf(t *testing.T, name string, e *evidence) {
	t.Helper()
	before := e.failed()
	for how, take := range less {
		for id, finding := range take(e).failed() {
			if before[id] == "" {
				t.Errorf("%s with %s: %s %s", name, how, id, finding)
			}
		}
	}
}
