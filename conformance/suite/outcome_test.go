package suite

import (
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/scenarios"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// TestOutcomeOfOneSide: rules that only the peer broke are left out, rules that both broke are kept.
func TestOutcomeOfOneSide(t *testing.T) {
	o := &Outcome{Impl: "x", Scenario: "one", Status: rule.Fail, Reason: "broken: R-1 R-2",
		Verdicts: []Verdict{
			{Rule: "R-1", Status: rule.Fail, Required: true, Met: 2, Total: 2, Against: [2]int{0, 2}},
			{Rule: "R-2", Status: rule.Fail, Required: true, Met: 2, Total: 2, Against: [2]int{1, 1}},
			{Rule: "R-3", Status: rule.Pass, Met: 1},
			{Rule: "R-4", Status: rule.Fail, Required: true, Met: 1, Total: 1}, // the channel's
		},
		Findings: []rule.Finding{{Rule: "R-1", Side: "B"}, {Rule: "R-2", Side: "A"}, {Rule: "R-2", Side: "B"},
			{Rule: "R-4"}}}
	a := o.Of(trace.A)
	if len(a.Verdicts) != 3 || a.Verdicts[0].Rule != "R-2" || a.Status != rule.Fail || len(a.Findings) != 2 {
		t.Errorf("of A: %+v", a)
	}
	if len(o.Verdicts) != 4 || len(o.Findings) != 4 {
		t.Errorf("the outcome itself changed: %+v", o)
	}
	o.Verdicts, o.Findings = o.Verdicts[:1], o.Findings[:1]
	if a = o.Of(trace.A); a.Status != rule.Inconclusive || a.Reason != "broken by the peer: R-1" ||
		len(a.Findings) != 0 {
		t.Errorf("of A, when B alone broke it: %+v", a)
	}
	if b := o.Of(trace.B); b.Status != rule.Fail || len(b.Verdicts) != 1 {
		t.Errorf("of B: %+v", b)
	}
}

// TestOutcomeOfIdleRun: a run without any work passes no scenario, but a broken rule in it counts for more.
func TestOutcomeOfIdleRun(t *testing.T) {
	sc := &scenarios.Scenario{Name: "one"}
	r := &Result{Status: rule.Inconclusive, Reason: "none of its 3 requests was done", Requests: "0 of 3 requests done",
		Verdicts: []rule.Verdict{{Rule: "R-1", Status: rule.Pass, Met: 1}}}
	o := Judge("x", "sim", sc, r, nil, false)
	if want := "one x on sim: INCONCLUSIVE, none of its 3 requests was done; 0 of 3 requests done"; o.Status !=
		rule.Inconclusive || o.String() != want {
		t.Errorf("%v: %s", o.Status, o)
	}
	r.Verdicts = append(r.Verdicts, rule.Verdict{Rule: "R-2", Status: rule.Fail, Required: true, Met: 7, Total: 7,
		Findings: []rule.Finding{
			{Rule: "R-2", Blame: rule.Requester, Record: 4, Packet: "A>B SEND_ONLY psn=+2", Text: "psn=+1 expected"}}})
	o = Judge("x", "sim", sc, r, nil, false)
	want := "one x on sim: FAIL, broken: R-2; 0 of 3 requests done\n" +
		"  R-2 packet 4, A>B SEND_ONLY psn=+2: psn=+1 expected (requester, connection 0, 0.000 us)\n  R-2 … and 6 " +
		"more\n  gauntlet explain R-2"
	if o.Status != rule.Fail || o.String() != want {
		t.Errorf("%v: %s", o.Status, o)
	}
}

// TestFaultOfAnEnd: an end that kept the run from finishing has failed, whatever the verdicts; its peer has not.
func TestFaultOfAnEnd(t *testing.T) {
	broken := rule.Verdict{Rule: "R-1", Status: rule.Fail, Required: true, Total: 1, Against: [2]int{1, 0}}
	for _, c := range []struct {
		verdicts []rule.Verdict
		a, b     rule.Status
		says     string
	}{
		{nil, rule.Inconclusive, rule.Fail, "B crashed"},
		{[]rule.Verdict{broken}, rule.Fail, rule.Fail, "B crashed; broken: R-1"},
	} {
		r := &Result{Status: rule.Fail, Reason: "B crashed", Fault: "B", Verdicts: c.verdicts}
		o := Judge("x", "netns", &scenarios.Scenario{Name: "one"}, r, nil, true)
		if o.Status != rule.Fail || o.Reason != c.says || o.Fault != "B" {
			t.Errorf("%s %q, %q", o.Status, o.Reason, o.Fault)
		}
		a, b := o.Of(trace.A), o.Of(trace.B)
		if a.Status != c.a || a.Fault != "" || a.Status == rule.Inconclusive && !strings.HasPrefix(a.Reason,
			"ended by the peer: ") {
			t.Errorf("of A: %s %q, %q", a.Status, a.Reason, a.Fault)
		}
		if b.Status != c.b || b.Fault != "B" {
			t.Errorf("of B: %s %q, %q", b.Status, b.Reason, b.Fault)
		}
	}
}
