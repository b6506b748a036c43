package gate

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/conform"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/registry"
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/scenarios"
	"github.com/rdma-gauntlet/gauntlet/conformance/suite"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
)

// scripted returns a stage in real time whose runs break a rule or not, in the order of the letters F and P.
func scripted(t *testing.T, o Options, script string) *stage {
	t.Helper()
	o.File = Default()
	profile, err := together(nil)
	must(t, err)
	s := &Session{options: o, profile: profile, started: time.Now()}
	session := &conform.Session{
		Options: conform.Options{Impl: "gbn", Bench: "netns"},
		Known:   registry.Catalogue{},
		Impls:   []string{"gbn"},
		Table:   conform.NewTable([]string{"gbn"}, false, nil),
	}
	n := 0
	alone, err := suite.NewAlone(
		suite.Config{Implementations: []string{"gbn"}, Bench: "netns", Scenarios: []scenarios.Scenario{
			scenarios.New(
				"one",
				"# One.\njudge GBN-NAK-002\npost-write wr=1 len=1024",
			), scenarios.New("two", "# Two.\njudge GBN-NAK-002\npost-write wr=1 len=1024")},
			Run: func(context.Context, string, *scenarios.Scenario, *scenario.Spec) (*suite.Result, error) {
				status := map[byte]rule.Status{'F': rule.Fail, 'P': rule.Pass}[script[n]]
				n++
				return &suite.Result{
					Verdicts: []rule.Verdict{
						{
							Rule:     "GBN-NAK-002",
							Level:    rule.Must,
							Status:   status,
							Required: true,
							Met:      1,
							Total:    int(status / rule.Fail),
						},
					},
				}, nil
			}},
		"",
	)
	must(t, err)
	st := &stage{gate: s, profile: profile, session: session, alone: alone, out: s.empty("conformance", "netns")}
	st.judge(t.Context(), func(float64, string) {})
	if n != len(script) {
		t.Errorf("%d runs, want %d", n, len(script))
	}
	return st
}

// A failure in real time is repeated, which tells flaky from broken; both fail. The remaining runs are left out.
func TestRepeats(t *testing.T) {
	for script, want := range map[string]string{
		"FFF": "broken: FAIL in all 3 runs of the same Spec",
		"FPF": "flaky: FAIL in 2 of 3 runs of the same Spec",
		"FPP": "flaky: FAIL in 1 of 3 runs of the same Spec",
	} {
		out := scripted(t, Options{}, script).out
		if out.Status != "FAIL" || len(out.Runs) != 1 || out.Runs[0].Repeated() != want ||
			!slices.Equal(out.Left, []string{"two"}) ||
			out.Why != "one failed" {
			t.Errorf("%s: %s %q, left %q, %s", script, out.Status, out.Runs[0].Repeated(), out.Left, out.Why)
		}
	}
	if out := scripted(t, Options{KeepGoing: true}, "FPPP").out; out.Status != "FAIL" || len(out.Runs) != 2 ||
		len(out.Left) > 0 {
		t.Errorf("%+v", out)
	}
	if out := scripted(t, Options{}, "PP").out; out.Status != "PASS" || len(out.Runs) != 2 ||
		out.Runs[0].Repeated() != "" ||
		out.Judged() != 1 {
		t.Errorf("%+v", out)
	}
}

// The order puts the runs with the most labels not yet seen first, and keeps all runs.
func TestMostLabelsFirst(t *testing.T) {
	specs := []suite.Spec{
		{Scenario: "a", Labels: []string{"x"}},
		{Scenario: "b", Labels: []string{"x", "y"}},
		{Scenario: "c", Labels: []string{"y", "z"}},
		{Scenario: "d", Labels: []string{"z"}},
	}
	if got := names(mostLabelsFirst(specs)); strings.Join(got, "") != "bcad" {
		t.Error(got)
	}
}

// options returns the options of a small gate in virtual time.
func options(t *testing.T, text string) Options {
	t.Helper()
	f, err := Parse(strings.NewReader("gate 1\n" + text))
	must(t, err)
	return Options{File: f, Folder: filepath.Join(t.TempDir(), "out"), Jobs: 2}
}

// A gate with itself as baseline reports no changes, whatever the number of parallel runs.
func TestSilence(t *testing.T) {
	o := options(t, "impl gbn\nscenarios GBN-NAK-002 && !random\nlinks burst\nseeds 2")
	for _, jobs := range []int{2, 1} {
		o.Jobs, o.Folder = jobs, filepath.Join(t.TempDir(), "out")
		s, err := New(o)
		must(t, err)
		must(t, s.Open())
		g, err := s.Run(t.Context(), func(float64, string) {})
		must(t, err)
		if g.Status != "PASS" || len(g.Changes) > 0 || len(g.Stages) != 3 || len(g.Stages[0].Runs) < 3 ||
			len(g.Stages[0].Runs[0].Numbers) == 0 ||
			g.Stages[2].Measured() != 3 {
			t.Fatalf("%s %q %q", g.Status, g.Reasons, g.Changes)
		}
		must(t, Write(g))
		if left, err := filepath.Glob(filepath.Join(o.Folder, "sim", "*", "gbn", "*")); err != nil || len(left) > 0 {
			t.Errorf("run folders of what passed are kept: %q, %v", left, err)
		}
		o.Baseline = filepath.Join(o.Folder, "gate.json")
	}
}

// When the budget is used up, the remaining runs are left out, and the gate is no PASS if one of them is required.
func TestBudget(t *testing.T) {
	o := options(t, "impl gbn\nprofile rc-gbn\nscenarios GBN-NAK-002 && !random\nlinks burst\nseeds 2")
	o.Budget = 1
	s, err := New(o)
	must(t, err)
	g, err := s.Run(t.Context(), func(float64, string) {})
	must(t, err)
	first := g.Stages[0]
	if g.Status != "INCOMPLETE" || len(first.Left) < 3 || !strings.HasPrefix(first.Why, "the budget of") ||
		g.Stages[len(g.Stages)-1].Status != "NOT-APPLICABLE" {
		t.Errorf("%s %+v", g.Status, g.Stages)
	}
}

func TestNewRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"impl gbnn":                                "unknown; known:",
		"impl gbn\nprofile nobody":                 "unknown",
		"impl gbn\nlinks nowhere":                  "unknown; known: clean",
		"impl gbn\nscenarios family:NOPE":          "no scenario is selected",
		"impl gbn\nscenarios ((":                   "label filter",
		"impl gbn\nwaivers nobody":                 "waivers nobody",
		"impl gbn\ntargets PT-QQ":                  "unknown",
		"impl gbn\nbench remote":                   "a testbed is qualified",
		"impl gbn\nbench nowhere":                  "want one of sim",
		"impl exec:x\nbench sim":                   "a program needs real packets",
		"impl gbn\nbaseline " + t.TempDir() + "/x": "keep the gate.json",
		"impl gbn\nprofile irn":                    "does not declare irn",
	} {
		_, err := New(options(t, text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
