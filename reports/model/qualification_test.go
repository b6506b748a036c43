package model_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	"github.com/rdma-gauntlet/gauntlet/netem/certify"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
	"github.com/rdma-gauntlet/gauntlet/reports/model/modeltest"
)

func TestQualificationSurvivesJSON(t *testing.T) {
	want := modeltest.Qualification()
	b, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got model.Qualification
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, &got); d != "" {
		t.Errorf("(-written +read)\n%s", d)
	}
}

// Every reason against a qualification is named. Waived rules and rules that the profile does not require do not count.
func TestQualificationStatus(t *testing.T) {
	passed := model.RuleOutcome{Rule: "GBN-NAK-001", Status: "PASS", Required: true, Core: true}
	rule := func(status string, required, core bool) model.Qualification {
		return model.Qualification{Rules: []model.RuleOutcome{passed, {Rule: "GBN-NAK-002", Title: "the rule",
			Status: status, Required: required, Core: core}}}
	}
	scenario := func(status string) model.Qualification {
		return model.Qualification{Rules: []model.RuleOutcome{passed},
			Scenarios: []model.ScenarioOutcome{{Name: "s", Status: status}}}
	}
	late := func(status string) model.Qualification {
		q := scenario(status)
		q.Scenarios[0].Reason, q.Scenarios[0].State = "late", validity.State{Validity: validity.Invalid,
			Doubt: "during the run: late"}
		return q
	}
	crashed, unmeasured := scenario("FAIL"), model.Qualification{Rules: []model.RuleOutcome{passed},
		Targets: modeltest.Perf()}
	crashed.Scenarios[0].Fault, crashed.Scenarios[0].Reason = "A", "it crashed"
	unmeasured.TargetRuns = []model.ScenarioOutcome{{Status: "FAIL", Fault: "A"}}
	for i, c := range []struct {
		q      model.Qualification
		status string
		reason string // the last reason; "" for none
	}{
		{rule("PASS", true, true), "PASS", ""},
		{rule("FAIL", true, false), "FAIL", "GBN-NAK-002 FAIL: the rule"},
		{rule("FAIL", false, false), "PASS", ""},
		{rule("INCONCLUSIVE", true, false), "PASS", ""},
		{rule("INCONCLUSIVE", true, true), "INCONCLUSIVE", "the profile asks to see it hold"},
		{rule("NOT-APPLICABLE", true, true), "INCONCLUSIVE", "NOT-APPLICABLE"},
		{rule("XFAIL", true, true), "PASS", "GBN-NAK-002 XFAIL: the rule"},
		{rule("XPASS", true, false), "XPASS", "XPASS"},
		{rule("ERROR", true, false), "ERROR", "ERROR"},
		{rule("nonsense", true, false), "ERROR", "nonsense"},
		{scenario("FAIL"), "PASS", ""}, // of a rule that the profile does not require
		{crashed, "FAIL", "scenario s FAIL: it crashed"},
		{unmeasured, "FAIL", "INVALID: late"},
		{scenario("INVALID"), "INVALID", "scenario s INVALID: no verdict"},
		{scenario(""), "ERROR", "scenario s ERROR"},
		{model.Qualification{}, "INCONCLUSIVE", "no required rule"},
		{model.Qualification{Rules: []model.RuleOutcome{passed}, Targets: modeltest.Perf()}, "FAIL", "INVALID: late"},
		{late("INVALID"), "INVALID", "scenario s INVALID: late"},
		// of a rule that the profile does not require
		{late("FAIL"), "INVALID", "scenario s FAIL: link INVALID during the run: late"},
	} {
		c.q.Settle()
		last := ""
		if n := len(c.q.Reasons); n > 0 {
			last = c.q.Reasons[n-1]
		}
		if c.q.Status != c.status || !strings.Contains(last, c.reason) || (last == "") != (c.reason == "") ||
			c.q.Qualified != (c.status == "PASS") {
			t.Errorf("case %d: %s, %v, %q; want %s, %q", i, c.q.Status, c.q.Qualified, c.q.Reasons, c.status, c.reason)
		}
	}
}

// TestFailureOverABadLink: the failure stands, is not the harness's, and has the state of the link beside it.
func TestFailureOverABadLink(t *testing.T) {
	q := modeltest.Qualification()
	if q.Status != "FAIL" || q.Undecided() || q.Beside(q.Verdict()) != "NOT QUALIFIED (link INVALID)" ||
		q.Doubt != "in loss-tail, during the run: late" {
		t.Errorf("%s, undecided %v, %q, %+v", q.Status, q.Undecided(), q.Beside(q.Verdict()), q.State)
	}
	q.Rules, q.Targets = q.Rules[:2], nil
	if q.Settle(); q.Status != "INVALID" || q.Beside(q.Verdict()) != "NOT DECIDED (link INVALID)" {
		t.Errorf("%s, %q: no FAIL stands", q.Status, q.Beside(q.Verdict()))
	}
}

func TestQualificationCountsCertificates(t *testing.T) {
	q := model.Qualification{Scenarios: []model.ScenarioOutcome{{Certificates: []certify.Certificate{{Valid: true},
		{}}}, {}}}
	if valid, all := q.Certified(); valid != 1 || all != 2 {
		t.Errorf("%d valid of %d", valid, all)
	}
	if c := modeltest.Qualification().Counts(); !slices.Contains(c, model.Fact{Name: "XFAIL", Value: "1"}) {
		t.Errorf("counts %v", c)
	}
}
