package conform

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/fault"
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules"
	"github.com/rdma-gauntlet/gauntlet/conformance/suite"
	"github.com/rdma-gauntlet/gauntlet/conformance/waivers"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
)

// outcome returns the outcome of a scenario with the given verdicts.
func outcome(impl, scenario string, status rule.Status, verdicts map[string]rule.Status) *suite.Outcome {
	o := &suite.Outcome{Impl: impl, Scenario: scenario, Bench: "sim", Status: status}
	for id, s := range verdicts {
		o.Verdicts = append(o.Verdicts, suite.Verdict{Rule: id, Status: s})
		if s == rule.Inconclusive {
			o.Unseen = append(o.Unseen, id)
		}
	}
	return o
}

func TestTable(t *testing.T) {
	table := NewTable([]string{"x", "y"}, false, (&Options{Bench: "sim"}).Again)
	table.Add(outcome("x", "one", rule.Pass, map[string]rule.Status{"RC-ACK-001": rule.Pass,
		"RC-ACK-002": rule.Inconclusive}))
	table.Add(outcome("x", "two", rule.Fail, map[string]rule.Status{"RC-ACK-001": rule.Fail, "RC-ACK-002": rule.Pass}))
	table.Add(outcome("y", "one", rule.Pass, map[string]rule.Status{"RC-ACK-001": rule.Pass,
		"RC-ACK-003": rule.Inconclusive}))
	var b strings.Builder
	if err := table.Print(&b, false); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"RULE LEVEL X Y SCENARIOS",
		"RC-ACK-001 MUST FAIL PASS 2, broken in two; 1",
		"RC-ACK-002 MUST NOT PASS NOT-APPLICABLE 1; 0",
		"RC-ACK-003 MUST NOT-APPLICABLE INCONCLUSIVE 0; 0",
		fmt.Sprintf("%d rules are NOT-APPLICABLE", len(rules.All())-3),
		"again: gauntlet conform --impl x --bench sim --focus ' two$' --out runs/again",
		"3 scenarios, 2 passed, 1 did not: FAIL",
	} {
		if text := strings.Join(strings.Fields(b.String()), " "); !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

// TestTableOfInvalidRuns: an INVALID verdict counts neither for nor against a rule, and a valid one counts also over a
// bad link.
func TestTableOfInvalidRuns(t *testing.T) {
	table := NewTable([]string{"x"}, false, (&Options{Bench: "sim"}).Again)
	table.Add(outcome("x", "one", rule.Invalid, map[string]rule.Status{"RC-ACK-001": rule.Invalid,
		"RC-ACK-002": rule.Invalid, "RC-ACK-003": rule.Pass}))
	table.Add(outcome("x", "three", rule.Error, map[string]rule.Status{"RC-ACK-002": rule.Pass}))
	table.Add(outcome("x", "two", rule.Pass, map[string]rule.Status{"RC-ACK-001": rule.Pass}))
	for id, want := range map[string]rule.Status{"RC-ACK-001": rule.Pass, "RC-ACK-002": rule.Inconclusive,
		"RC-ACK-003": rule.Pass} {
		if c := table.Cell(id, "x"); c == nil || c.Status != want || len(c.Broken) > 0 {
			t.Errorf("%s: %+v, want %s", id, c, want)
		}
	}
	if table.Worst != rule.Error || len(table.bad) != 2 {
		t.Errorf("worst %s, %d bad", table.Worst, len(table.bad))
	}
	table.Add(outcome("x", "four", rule.Fail, map[string]rule.Status{"RC-ACK-001": rule.Fail,
		"RC-ACK-002": rule.Invalid}))
	if c := table.Cell("RC-ACK-001", "x"); c.Status != rule.Fail || table.Worst != rule.Fail {
		t.Errorf("%+v, worst %s: a FAIL that stands is hidden", c, table.Worst)
	}
	late := outcome("x", "five", rule.Fail, nil)
	late.State = validity.State{Validity: validity.Invalid, Doubt: "during the run: late"}
	table.Add(late)
	var b strings.Builder
	err := table.Print(&b, true)
	for _, want := range []string{"five x on sim: FAIL, link INVALID during the run: late\n",
		"did not: FAIL; the links of 1 were INVALID\n"} {
		if err != nil || !strings.Contains(b.String(), want) {
			t.Errorf("%v, no %q in\n%s", err, want, b.String())
		}
	}
}

// TestWaivers: a waived rule that any scenario breaks is XFAIL, and one that all pass is XPASS and fails the suite.
func TestWaivers(t *testing.T) {
	table := NewTable([]string{"x"}, false, (&Options{Bench: "sim"}).Again)
	table.Add(outcome("x", "one", rule.Pass, map[string]rule.Status{"RC-ACK-001": rule.Pass, "RC-ACK-002": rule.Pass}))
	table.Add(outcome("x", "two", rule.Pass, map[string]rule.Status{"RC-ACK-001": rule.XFail, "RC-ACK-002": rule.Pass,
		"RC-MSN-001": rule.Pass}))
	table.Expect([]waivers.Waiver{{Rule: "RC-ACK-*", Impl: "x", Owner: "o", Reason: "r", Expires: "9999-12-31"},
		{Rule: "RC-MSN-001", Impl: "x", Sure: "three", Owner: "o", Reason: "r", Expires: "9999-12-31"}},
		"", "2026-01-01")
	var b strings.Builder
	if err := table.Print(&b, false); err != nil || table.Worst != rule.XPass {
		t.Errorf("worst %s, %v; want XPASS", table.Worst, err)
	}
	for _, want := range []string{"RC-ACK-001 MUST XFAIL 2, broken in two", "RC-ACK-002 MUST NOT XPASS 2",
		"RC-MSN-001 MUST PASS 1", "2 scenarios, 2 passed, 0 did not: XPASS"} {
		if text := strings.Join(strings.Fields(b.String()), " "); !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

func TestImplementations(t *testing.T) {
	if s, err := New(Options{Impl: "gbn,gbn", Bench: "sim"}); err != nil || len(s.Impls) != 1 {
		t.Errorf("%v, %v: want gbn once", s.Impls, err)
	}
	if _, err := New(Options{Impl: "nobody", Bench: "sim"}); fault.Of(err) != fault.User ||
		!strings.Contains(err.Error(), "known: ") {
		t.Errorf("%v: want what is known", err)
	}
}
