package points

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/suite"
	"github.com/rdma-gauntlet/gauntlet/perf/history"
	"github.com/rdma-gauntlet/gauntlet/perf/metrics"
	"github.com/rdma-gauntlet/gauntlet/perf/stats"
	measured "github.com/rdma-gauntlet/gauntlet/perf/suite"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// write writes a result as JSON, like the commands.
func write(t *testing.T, name string, v any) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	text, err := json.Marshal(v)
	if err == nil {
		err = os.WriteFile(path, text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// point returns the point of the series whose name ends with name.
func point(t *testing.T, n *history.Night, name string) *history.Point {
	t.Helper()
	for i := range n.Points {
		if strings.HasSuffix(n.Points[i].Name, name) {
			return &n.Points[i]
		}
	}
	t.Fatalf("no series %q in %+v", name, n.Points)
	return nil
}

func aRun(bench string, goodput float64) *model.Result {
	return &model.Result{
		Format:   1,
		Version:  "0.1.0",
		Commit:   "abc",
		Started:  "2026-11-24T19:09:42Z",
		Bench:    bench,
		Impl:     [2]string{"gbn", "irn"},
		Spec:     "seed 7",
		SpecHash: "f10778e5aaaa",
		Seed:     7,
		Status:   "FAIL",
		Summary:  metrics.Summary{GoodputBps: goodput, Packets: 9},
		Verdicts: []rule.Verdict{
			{Rule: "GBN-NAK-001", Status: rule.Fail, Required: true},
			{Rule: "RC-ACK-001", Status: rule.Fail},
		},
		Environment: []model.Fact{{Name: "kernel", Value: "6.12.1"}},
	}
}

// A run is exact in virtual time and noisy in real time. A failure is a verdict, and its numbers remain.
func TestRun(t *testing.T) {
	n, err := Gather([]string{write(t, "result.json", aRun("sim", 5e9))}, Told{Host: "a"})
	if err != nil {
		t.Fatal(err)
	}
	v, g := point(t, n, "run gbn+irn f10778e5 verdict"), point(t, n, "goodput")
	if v.Word != "FAIL GBN-NAK-001" || v.Class != history.Exact || g.Values[0] != 5e9 || g.Better != history.Up ||
		g.Seeds[0] != 7 ||
		g.Spec != "f10778e5aaaa" {
		t.Errorf("%+v, %+v", v, g)
	}
	if n.Night != "2026-11-24" || n.Commit != "abc" || n.Host != "a" || n.Kernel != "6.12.1" {
		t.Errorf("%+v", n.Header)
	}
	pinned := write(t, "pinned.json", aRun("netns", 4e9))
	n, err = Gather(
		[]string{write(t, "result.json", aRun("netns", 5e9))},
		Told{Reference: pinned, Run: "bulk", Firmware: "1.2", Night: "2026-11-23"},
	)
	if err != nil {
		t.Fatal(err)
	}
	if g = point(t, n, "run gbn+irn bulk goodput"); g.Class != history.Noisy || g.Value() != 1.25 ||
		n.Firmware != "1.2" ||
		n.Night != "2026-11-23" {
		t.Errorf("%+v, %+v", g, n.Header)
	}
}

// An INVALID cell is a gap with its status; a cell that is NOT-APPLICABLE has no point.
func TestMatrixGaps(t *testing.T) {
	m := &model.Matrix{Format: 1, Started: "2026-11-24T19:09:42Z", Bench: "netns", Seed: 1, Cells: []model.Cell{
		{
			Impl:   "gbn",
			Link:   "clean",
			Status: "INVALID",
		}, {Impl: "box", Link: "clean", Status: "NOT-APPLICABLE"}, {Impl: "irn", Link: "clean", Status: "PASS"}}}
	n, err := Gather([]string{write(t, "matrix.json", m)}, Told{Class: "exact", Kernel: "6.1"})
	if err != nil {
		t.Fatal(err)
	}
	g := point(t, n, "gbn clean goodput")
	if !g.Gap() || g.Status != "INVALID" || g.Class != history.Exact || n.Kernel != "6.1" {
		t.Errorf("%+v", g)
	}
	if p := point(t, n, "irn clean packets"); p.Gap() || p.Values[0] != 0 {
		t.Errorf("nothing sent is a number: %+v", p)
	}
	for _, p := range n.Points {
		if strings.Contains(p.Name, "box") {
			t.Errorf("%+v", p)
		}
	}
}

// Seeds make a number paired, and real packets make it noisy. A closed form is no measurement, and an error is a gap.
func TestClaims(t *testing.T) {
	x := func(name string) measured.Measured {
		return measured.Measured{
			Name:      name,
			Metric:    "goodput",
			Scenarios: []string{"impl gbn"},
			Seeds:     []uint64{1, 2},
			Values:    []float64{1, 2},
			Estimate:  &stats.Estimate{},
		}
	}
	random, clean, model, broke := x("random"), x("clean"), x("model"), x("broke")
	random.Random, random.Real, random.RealValues = true, &stats.Estimate{}, []float64{3, 4}
	model.Scenarios, broke.Estimate = nil, nil
	r := &measured.Result{Format: 1, Started: "2026-11-24T19:09:42Z", Bench: "sim", Emulated: "netns",
		Claims: []measured.Claim{{ID: "PT-X-1", Measured: []measured.Measured{random, clean, model, broke}}}}
	n, err := Gather([]string{write(t, "perf.json", r)}, Told{})
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, p := range n.Points {
		said = append(said, strings.TrimSpace(strings.Join([]string{p.Name, p.Bench, string(p.Class), p.Status}, "; ")))
	}
	want := "perf PT-X-1 random, goodput; sim; paired;\nperf PT-X-1 random, goodput; netns; noisy;\n" +
		"perf PT-X-1 clean, goodput; sim; exact;\nperf PT-X-1 broke, goodput; sim; exact; ERROR"
	if got := strings.Join(said, "\n"); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// The report of a suite is Ginkgo's, with an outcome in each spec.
func TestSuite(t *testing.T) {
	o := &suite.Outcome{Impl: "gbn", Scenario: "loss", Bench: "sim", Status: rule.Fail, SpecHash: "aa", Seed: 1,
		Version: "v", Commit: "c",
		Verdicts: []suite.Verdict{{Rule: "A-1", Status: rule.Fail, Required: true}, {Rule: "A-2", Status: rule.Fail}}}
	text, _ := json.Marshal(o)
	entry := map[string]any{"Name": "verdicts", "Value": map[string]string{"AsJSON": string(text)}}
	report := []any{
		map[string]any{
			"StartTime":   "2026-11-24T19:09:42.25Z",
			"SpecReports": []any{map[string]any{}, map[string]any{"ReportEntries": []any{entry}}},
		},
	}
	n, err := Gather([]string{write(t, "conform.json", report)}, Told{})
	if err != nil || len(n.Points) != 1 || n.Points[0].Word != "FAIL A-1" ||
		n.Points[0].Name != "conform gbn loss verdict" ||
		n.Started != "2026-11-24T19:09:42Z" || n.Version != "v" || n.Commit != "c" {
		t.Errorf("%+v, %v", n, err)
	}
}

func TestGate(t *testing.T) {
	g := &model.Gate{
		Format:  1,
		Started: "2026-11-24T19:09:42Z",
		Subject: "gbn",
		Stages: []model.GateStage{{Name: "conformance", Bench: "lab", Exact: true,
			Runs: []model.GateRun{
				{
					ScenarioOutcome: model.ScenarioOutcome{Name: "loss", Status: "PASS"},
					Numbers:         []model.GateNumber{{Name: "packets", Value: 4}},
				},
			}}},
	}
	n, err := Gather([]string{write(t, "gate.json", g)}, Told{})
	if err != nil {
		t.Fatal(err)
	}
	if p := point(t, n, "gate conformance gbn loss packets"); p.Class != history.Exact || p.Values[0] != 4 ||
		p.Bench != "lab" {
		t.Errorf("%+v", p)
	}
}

// Results of two commits are one night only if the caller names the commit.
func TestOneCommit(t *testing.T) {
	other := aRun("sim", 1)
	other.Commit, other.Started = "def", "2026-11-24T18:00:00Z"
	paths := []string{write(t, "a.json", aRun("sim", 1)), write(t, "b.json", other)}
	if _, err := Gather(paths, Told{}); err == nil ||
		!strings.Contains(err.Error(), "of commit def, and the results before it of abc") {
		t.Error(err)
	}
	n, err := Gather(paths, Told{Commit: "both"})
	if err != nil || n.Commit != "both" || n.Started != other.Started {
		t.Errorf("%+v, %v", n, err)
	}
	if Backwards(n, []history.Night{{Header: history.Header{Night: "2026-12-01", Host: n.Host}}}) == "" ||
		Backwards(n, nil) != "" {
		t.Error("a clock that went back is not told, or one that did not is")
	}
}
