package model_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
	"github.com/rdma-gauntlet/gauntlet/reports/model/modeltest"
)

// A report can be made again from result.json, which has all fields.
func TestResultSurvivesJSON(t *testing.T) {
	want := modeltest.Result()
	b, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got model.Result
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, &got); d != "" {
		t.Errorf("(-written +read)\n%s", d)
	}
}

// The names are a contract with readers of result.json; the numbers are at its top level.
func TestNamesOfJSON(t *testing.T) {
	b, err := json.Marshal(modeltest.Result())
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]json.RawMessage
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"format", "bench", "impl", "spec", "spec_hash", "seed", "status", "verdicts",
		"certificates", "warnings", "notes",
		"environment", "timeline", "sequences", "ladders", "counters", "goodput_bps", "utilisation", "elapsed_ns",
		"messages", "data_packets",
		"retransmitted_packets", "spurious_packets", "lost_packets", "recovery_ns", "fct_ns", "command", "version"} {
		if _, ok := got[name]; !ok {
			t.Errorf("result.json has no %q", name)
		}
	}
}

func TestCounts(t *testing.T) {
	r := &model.Result{Verdicts: []rule.Verdict{{Status: rule.Fail}, {Status: rule.Pass}, {Status: rule.Fail}}}
	want := []model.Fact{{Name: "PASS", Value: "1"}, {Name: "FAIL", Value: "2"}}
	if d := cmp.Diff(want, r.Counts()); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

// The processor time is given per GB of payload, and left out when it is unknown or no payload was moved.
func TestProcessorPerGB(t *testing.T) {
	p := model.NewProcessor([2]time.Duration{3 * time.Second, 0}, 500_000_000)
	if p == nil || p.Ns != [2]int64{3e9, 0} || p.NsPerGB != [2]int64{6e9, 0} {
		t.Errorf("%+v", p)
	}
	for _, p := range []*model.Processor{model.NewProcessor([2]time.Duration{}, 1),
		model.NewProcessor([2]time.Duration{1, 1}, 0)} {
		if p != nil {
			t.Errorf("%+v of nothing", p)
		}
	}
}
