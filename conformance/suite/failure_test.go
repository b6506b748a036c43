package suite_test

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/onsi/ginkgo/v2/extensions/globals"
	"github.com/onsi/ginkgo/v2/types"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/scenarios"
	"github.com/rdma-gauntlet/gauntlet/conformance/suite"
	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/sim"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	brokengbn "github.com/rdma-gauntlet/gauntlet/impls/broken/gbn"
)

// breaker returns the broken engine that breaks a rule.
func breaker(t *testing.T, id string) engine.Implementation {
	t.Helper()
	for _, v := range brokengbn.Family().Variants {
		if slices.Contains(v.Catches, id) {
			return v.Impl
		}
	}
	t.Fatalf("no engine breaks %s", id)
	return engine.Implementation{}
}

// TestBrokenEnginesFail runs the suite on engines with one fault each: the spec must fail, by the right rule.
func TestBrokenEnginesFail(t *testing.T) {
	for _, c := range []struct{ rule, scenario string }{
		{"GBN-NAK-002", "loss-many-follow"},
		{"RC-MSN-001", "ops-every-length"},
		{"RC-MEM-001", "random/write"},
		{"NEG-ICRC-001", "link-corrupt"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			impl := breaker(t, c.rule)
			dir := t.TempDir()
			o := suite.Options{JUnit: filepath.Join(dir, "junit.xml"), JSON: filepath.Join(dir, "suite.json")}
			find := func(string) (engine.Implementation, bool) { return impl, true }
			out := outcomes(t, suite.Config{Implementations: []string{impl.Name}, Bench: "sim",
				Scenarios: pick(t, c.scenario),
				Run:       play(sim.Bench{}, find)}, o, false)
			if len(out) != 1 || out[0].Status != rule.Fail || !strings.Contains(out[0].Reason, c.rule) {
				t.Fatalf("%v: want FAIL for %s", out, c.rule)
			}
			if !slices.ContainsFunc(out[0].Findings, func(f rule.Finding) bool { return f.Rule == c.rule }) {
				t.Errorf("no finding of %s among %d", c.rule, len(out[0].Findings))
			}
			checkReports(t, o, c.rule)
		})
	}
}

// outcomes runs one configuration and checks the result of Run.
func outcomes(t *testing.T, cfg suite.Config, o suite.Options, want bool) (out []*suite.Outcome) {
	t.Helper()
	globals.Reset()
	cfg.Observe = func(o *suite.Outcome) { out = append(out, o) }
	register(t, cfg)
	passed, err := suite.Run(o)
	if err != nil {
		t.Fatal(err)
	}
	if passed != want {
		t.Errorf("suite passed: %v, want %v", passed, want)
		for _, x := range out {
			t.Logf("%s: %s %s", x.Scenario, x.Status, x.Reason)
		}
	}
	return out
}

// checkReports reads both reports back and looks for the rule in the entry, the failure and the JUnit failure.
func checkReports(t *testing.T, o suite.Options, id string) {
	t.Helper()
	var reports []types.Report
	if err := json.Unmarshal(read(t, o.JSON), &reports); err != nil {
		t.Fatalf("JSON report: %v", err)
	}
	spec := reports[0].SpecReports.WithLeafNodeType(types.NodeTypeIt)[0]
	var entry suite.Outcome
	if err := json.Unmarshal([]byte(spec.ReportEntries[0].Value.AsJSON), &entry); err != nil {
		t.Fatalf("report entry: %v", err)
	}
	if entry.Status != rule.Fail || len(entry.Verdicts) == 0 || !strings.Contains(spec.Failure.Message, id) {
		t.Errorf("entry %+v, failure %q: want %s", entry, spec.Failure.Message, id)
	}
	var junit struct {
		Failures int `xml:"failures,attr"`
	}
	if err := xml.Unmarshal(read(t, o.JUnit), &junit); err != nil || junit.Failures != 1 {
		t.Errorf("JUnit: %d failures, %v", junit.Failures, err)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestUntrustworthyRunsFail passes runs to the suite in which no rule failed, but which prove nothing.
func TestUntrustworthyRunsFail(t *testing.T) {
	named := pick(t, "loss-middle")
	judged := func(status rule.Status) []rule.Verdict {
		var out []rule.Verdict
		for _, id := range named[0].Rules {
			out = append(out, rule.Verdict{Rule: id, Status: status, Required: true})
		}
		return out
	}
	for _, c := range []struct {
		name   string
		result *suite.Result
		err    error
		want   rule.Status
	}{
		{"all passed", &suite.Result{Status: rule.Pass, Verdicts: judged(rule.Pass)}, nil, rule.Pass},
		{"not exercised", &suite.Result{Status: rule.Pass, Verdicts: judged(rule.Inconclusive)}, nil,
			rule.Inconclusive},
		{"not judged", &suite.Result{Status: rule.Pass}, nil, rule.Inconclusive},
		{"waived", &suite.Result{Status: rule.Pass, Verdicts: judged(rule.XFail)}, nil, rule.Pass},
		{"waived and passes", &suite.Result{Status: rule.XPass, Verdicts: judged(rule.XPass)}, nil, rule.Fail},
		{"link out of bounds", &suite.Result{Status: rule.Invalid, Reason: "rate", Verdicts: judged(rule.Pass)},
			nil, rule.Invalid},
		{"a failure stands over a bad link",
			&suite.Result{Status: rule.Fail, State: validity.State{Validity: validity.Invalid, Doubt: "late"},
				Verdicts: judged(rule.Fail)}, nil, rule.Fail},
		{"a failure does not stand", &suite.Result{Status: rule.Invalid, Verdicts: judged(rule.Invalid)},
			nil, rule.Invalid},
		{"a failure stands although the harness broke", &suite.Result{Status: rule.Fail, Verdicts: judged(rule.Fail)},
			errors.New("no such device"), rule.Fail},
		{"waived and passes over a bad link", &suite.Result{Status: rule.Invalid, Verdicts: judged(rule.XPass)},
			nil, rule.Invalid},
		{"check panicked", &suite.Result{Status: rule.Error, Verdicts: judged(rule.Error)}, nil, rule.Error},
		{"harness broke", &suite.Result{Status: rule.Error, Verdicts: judged(rule.Pass)},
			errors.New("no such device"), rule.Error},
		{"nothing came", nil, nil, rule.Error},
		{"not on this bench", &suite.Result{Status: rule.Error}, fmt.Errorf("marks: %w", bench.ErrUnsupported),
			rule.NotApplicable},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := outcomes(t, suite.Config{Implementations: []string{"x"}, Reference: []string{"x"},
				Bench: "none", Scenarios: named,
				Run: func(context.Context, string, *scenarios.Scenario, *scenario.Spec) (*suite.Result, error) {
					return c.result, c.err
				},
			}, suite.Options{}, c.want == rule.Pass || c.want == rule.NotApplicable)
			if len(out) != 1 || out[0].Status != c.want {
				t.Errorf("%v: want %v", out, c.want)
			}
		})
	}
}

// TestForeignDevice: a rule that a scenario promises to exercise, and does not on a foreign device, is no failure of
// the device.
func TestForeignDevice(t *testing.T) {
	out := outcomes(t, suite.Config{Implementations: []string{"x"}, Bench: "none", Scenarios: pick(t, "loss-middle"),
		Run: func(context.Context, string, *scenarios.Scenario, *scenario.Spec) (*suite.Result, error) {
			return &suite.Result{Status: rule.Pass}, nil
		}}, suite.Options{}, true)
	if len(out) != 1 || !out[0].Passed() {
		t.Errorf("%v: want PASS", out)
	}
}

func TestSelection(t *testing.T) {
	globals.Reset()
	register(t, suite.Config{Implementations: []string{"x", "y"}, Bench: "none", Scenarios: scenarios.All(),
		Run: func(context.Context, string, *scenarios.Scenario, *scenario.Spec) (*suite.Result, error) {
			return nil, nil
		}})
	for _, c := range []struct {
		o    suite.Options
		want string // of the specs "IMPL SCENARIO", joined
	}{
		{suite.Options{LabelFilter: "GBN-RTX-006 && impl:x"}, "x loss-retransmission"},
		{suite.Options{LabelFilter: "impl:y && random && family:NEG"}, "y random/everything"},
		{suite.Options{Focus: []string{"y loss-nak$"}}, "y loss-nak"},
		{suite.Options{Focus: []string{"loss-nak"}, Skip: []string{"doubled", " x "}}, "y loss-nak"},
		{suite.Options{LabelFilter: "sim"}, ""},
	} {
		specs, err := suite.List(c.o)
		var got []string
		for _, s := range specs {
			got = append(got, s.Impl+" "+s.Scenario)
		}
		if err != nil || strings.Join(got, ", ") != c.want {
			t.Errorf("%+v selects %v, %v; want %q", c.o, got, err, c.want)
		}
	}
	for _, o := range []suite.Options{{LabelFilter: "a &&"}, {Focus: []string{"("}}, {Skip: []string{"["}}} {
		if _, err := suite.List(o); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%+v: error %v, want one line", o, err)
		}
	}
}

// TestReportThatCannotBeWritten is refused before anything runs.
func TestReportThatCannotBeWritten(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "no", "such", "folder")
	for _, o := range []suite.Options{{JUnit: missing}, {JSON: missing}} {
		if _, err := suite.Run(o); err == nil {
			t.Errorf("%+v: want an error", o)
		}
	}
}

func TestRegisterRefuses(t *testing.T) {
	globals.Reset()
	run := func(context.Context, string, *scenarios.Scenario, *scenario.Spec) (*suite.Result, error) {
		return nil, nil
	}
	bad := scenarios.New("bad", "# Bad.\nlink speed=1\n")
	for _, cfg := range []suite.Config{{}, {Run: run}, {Run: run, Implementations: []string{"x"}},
		{Run: run, Implementations: []string{"x"}, Scenarios: []scenarios.Scenario{bad}}} {
		if err := suite.Register(cfg); err == nil {
			t.Errorf("%+v: want an error", cfg)
		}
	}
}

// TestEntriesSurviveNaN attaches a value that JSON cannot hold, for which Ginkgo would write an empty report.
func TestEntriesSurviveNaN(t *testing.T) {
	if text, err := json.Marshal(suite.Encode(unencodable{math.NaN()})); err != nil ||
		!strings.Contains(string(text), "a text") {
		t.Errorf("%s, %v: want the text in place of the value", text, err)
	}
}

type unencodable struct{ V float64 }

func (unencodable) String() string { return "a text" }
