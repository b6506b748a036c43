package gate

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/perf/stats"
	"github.com/rdma-gauntlet/gauntlet/perf/suite"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// before returns a gate that passed except for a rule, with a number over twelve seeds.
func before() *model.Gate {
	run := func(name string, packets int64, broken ...string) model.GateRun {
		return model.GateRun{
			ScenarioOutcome: model.ScenarioOutcome{Name: name, Status: "PASS", SpecHash: "a" + name},
			Broken:          broken,
			Numbers:         []model.GateNumber{{Name: "packets", Value: packets}},
		}
	}
	m := suite.Measured{
		Name:      "burst goodput",
		Metric:    "goodput",
		Unit:      "Mb/s",
		Random:    true,
		Scenarios: []string{"impl x"},
	}
	for seed := range 12 {
		m.Seeds, m.Values = append(m.Seeds, uint64(seed+1)), append(m.Values, 40+float64(seed))
	}
	m.Estimate = &stats.Estimate{Value: 45, N: 12}
	return &model.Gate{Format: FormatVersion, Version: "0.1.0", Subject: "gbn", Stages: []model.GateStage{
		{
			Name:  "conformance",
			Bench: "sim",
			Exact: true,
			Runs:  []model.GateRun{run("one", 10), run("two", 20, "GBN-NAK-002"), run("three", 30)},
		},
		{
			Name:  "numbers",
			Bench: "sim",
			Exact: true,
			Numbers: &suite.Result{
				Format: suite.FormatVersion,
				Claims: []suite.Claim{{ID: linkID, Measured: []suite.Measured{m}}},
			},
		},
	}}
}

// lines returns the changes from the baseline as they are printed.
func lines(now *model.Gate) (out []string) {
	_, changes := compare("main.json", before(), now, 0.01)
	for _, c := range changes {
		out = append(out, fmt.Sprintf("%s: %s %s", c.Kind, c.What, c.Text))
	}
	return out
}

func TestCompare(t *testing.T) {
	scale := func(by ...float64) func(*model.Gate) {
		return func(g *model.Gate) {
			values := g.Stages[1].Numbers.Claims[0].Measured[0].Values
			for i := range values {
				values[i] *= by[i%len(by)]
			}
		}
	}
	for name, c := range map[string]struct {
		change func(*model.Gate)
		want   []string
	}{
		"nothing": {func(*model.Gate) {}, nil},
		"a new failure": {func(g *model.Gate) { g.Stages[0].Runs[2].Broken = []string{"RC-ACK-001"} },
			[]string{"new failure: RC-ACK-001 in three"}},
		"one more place": {func(g *model.Gate) { g.Stages[0].Runs[0].Broken = []string{"GBN-NAK-002"} },
			[]string{"new failure: GBN-NAK-002 in one"}},
		"a crash": {func(g *model.Gate) { g.Stages[0].Runs[0].Fault = "A" },
			[]string{"new failure: end A was not done in one"}},
		"fixed": {func(g *model.Gate) { g.Stages[0].Runs[1].Broken = nil },
			[]string{"fixed: GBN-NAK-002 in two"}},
		"a packet more": {func(g *model.Gate) { g.Stages[0].Runs[0].Numbers[0].Value++ },
			[]string{"changed: one packets 10 → 11"}},
		"another Spec": {func(g *model.Gate) { g.Stages[0].Runs[0].SpecHash, g.Stages[0].Runs[0].Numbers = "b", nil },
			[]string{"not compared: numbers 1 runs have another Spec than those of the baseline"}},
		"left out":      {func(g *model.Gate) { g.Stages[0].Runs = g.Stages[0].Runs[:1] }, nil},
		"another bench": {func(g *model.Gate) { g.Stages[0].Bench = "netns" }, nil},
		"slower": {scale(0.9),
			[]string{"regressed: burst goodput, goodput 45 → 45 Mb/s, -10.00 % (-10.00 to -10.00)"}},
		"faster": {scale(1.1),
			[]string{"improved: burst goodput, goodput 45 → 45 Mb/s, +10.00 % (+10.00 to +10.00)"}},
		"within margin": {scale(0.995), nil},
		"either way":    {scale(0.9, 1.1), nil},
		"in real time":  {func(g *model.Gate) { scale(0.5)(g); g.Stages[1].Exact = false }, nil},
	} {
		now := before()
		c.change(now)
		if got := lines(now); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A regression fails the gate and an improvement does not. A failure that main has too is a failure.
func TestChangesInTheVerdict(t *testing.T) {
	for kind, want := range map[model.GateKind]string{model.Regressed: "FAIL", model.Improved: "PASS",
		model.Changed: "PASS", model.Uncompared: "PASS"} {
		g := &model.Gate{
			Stages:  []model.GateStage{{Status: "PASS"}, {Status: "NOT-APPLICABLE"}},
			Changes: []model.GateChange{{Kind: kind}},
		}
		if g.Settle(); g.Status != want {
			t.Errorf("%s: %s, want %s", kind, g.Status, want)
		}
	}
	for _, statuses := range [][3]string{{"PASS", "INCOMPLETE", "INCOMPLETE"}, {"FAIL", "INCOMPLETE", "FAIL"},
		{"INVALID", "INCOMPLETE", "INVALID"}, {"PASS", "INVALID", "INVALID"}} {
		g := &model.Gate{Stages: []model.GateStage{{Status: statuses[0]}, {Status: statuses[1]}}}
		if g.Settle(); g.Status != statuses[2] {
			t.Errorf("%s, want %s", g.Status, statuses[2])
		}
	}
}

func TestReadBaselineRefuses(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]string{"{": "unexpected end", `{"format":9}`: "format 9; this program reads 1",
		`{"format":1}`: "no stages", `[]`: "cannot unmarshal"} {
		path := filepath.Join(dir, "b.json")
		must(t, os.WriteFile(path, []byte(text), 0o644))
		if _, err := ReadBaseline(path); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.HasPrefix(err.Error(), "baseline "+path) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	if _, err := ReadBaseline(filepath.Join(dir, "none")); err == nil ||
		!strings.Contains(err.Error(), "keep the gate.json of a gate of main") {
		t.Error(err)
	}
}
