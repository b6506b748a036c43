package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules"
	"github.com/rdma-gauntlet/gauntlet/conformance/suite"
)

// outcome makes what a spec would report: pairs of a rule and its status.
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

func TestConformTable(t *testing.T) {
	table := newConformTable([]string{"x", "y"}, "never")
	table.add(outcome("x", "one", rule.Pass, map[string]rule.Status{"RC-ACK-001": rule.Pass, "RC-ACK-002": rule.Inconclusive}))
	table.add(outcome("x", "two", rule.Fail, map[string]rule.Status{"RC-ACK-001": rule.Fail, "RC-ACK-002": rule.Pass}))
	table.add(outcome("y", "one", rule.Pass, map[string]rule.Status{"RC-ACK-001": rule.Pass, "RC-ACK-003": rule.Inconclusive}))
	var b strings.Builder
	if err := table.print(&b, false); err != nil {
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

// TestConformTableOfInvalidRuns: a run whose link was not what it should be counts neither for a rule nor against it.
func TestConformTableOfInvalidRuns(t *testing.T) {
	table := newConformTable([]string{"x"}, "never")
	table.add(outcome("x", "one", rule.Invalid, map[string]rule.Status{"RC-ACK-001": rule.Fail, "RC-ACK-002": rule.Pass, "RC-ACK-003": rule.Pass}))
	table.add(outcome("x", "two", rule.Pass, map[string]rule.Status{"RC-ACK-001": rule.Pass}))
	for id, want := range map[string]rule.Status{"RC-ACK-001": rule.Pass, "RC-ACK-002": rule.Inconclusive} {
		if c := table.cells[[2]string{id, "x"}]; c == nil || c.status != want || len(c.broken) > 0 {
			t.Errorf("%s: %+v, want %s", id, c, want)
		}
	}
	if table.worst != rule.Invalid || len(table.bad) != 1 {
		t.Errorf("worst %s, %d bad", table.worst, len(table.bad))
	}
}

// TestConformWaivers: a waived rule that any scenario breaks is XFAIL, and one that all pass is XPASS and fails the suite.
func TestConformWaivers(t *testing.T) {
	table := newConformTable([]string{"x"}, "never")
	table.add(outcome("x", "one", rule.Pass, map[string]rule.Status{"RC-ACK-001": rule.Pass, "RC-ACK-002": rule.Pass}))
	table.add(outcome("x", "two", rule.Pass, map[string]rule.Status{"RC-ACK-001": rule.XFail, "RC-ACK-002": rule.Pass, "RC-MSN-001": rule.Pass}))
	f := conformFlags{waived: []rule.Waiver{{Rule: "RC-ACK-*", Impl: "x", Owner: "o", Reason: "r", Expires: "9999-12-31"},
		{Rule: "RC-MSN-001", Impl: "x", Sure: "three", Owner: "o", Reason: "r", Expires: "9999-12-31"}}}
	var b strings.Builder
	if got := report(f.conclude(context.Background(), &b, table, 2)); got != exitFailure {
		t.Errorf("exit code %d, want %d", got, exitFailure)
	}
	for _, want := range []string{"RC-ACK-001 MUST XFAIL 2, broken in two", "RC-ACK-002 MUST NOT XPASS 2", "RC-MSN-001 MUST PASS 1", "2 scenarios, 2 passed, 0 did not: XPASS"} {
		if text := strings.Join(strings.Fields(b.String()), " "); !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

func TestConformExitCodes(t *testing.T) {
	for _, c := range []struct {
		status rule.Status
		want   int
	}{{rule.Pass, 0}, {rule.Inconclusive, exitFailure}, {rule.Fail, exitFailure}, {rule.Invalid, exitBroken}, {rule.Error, exitBroken}} {
		table := newConformTable([]string{"x"}, "never")
		table.add(outcome("x", "one", rule.Pass, nil))
		table.add(outcome("x", "two", c.status, nil))
		var f conformFlags
		if got := report(f.conclude(context.Background(), io.Discard, table, 2)); got != c.want {
			t.Errorf("%v: exit code %d, want %d", c.status, got, c.want)
		}
		if got := report(f.conclude(context.Background(), io.Discard, table, 3)); got != exitBroken {
			t.Errorf("one scenario missing: exit code %d, want %d", got, exitBroken)
		}
	}
}

func TestConformImplementations(t *testing.T) {
	f := conformFlags{impl: "gbn,gbn"}
	if names, err := f.implementations(&benchOnDemand{}); err != nil || len(names) != 1 {
		t.Errorf("%v, %v: want gbn once", names, err)
	}
	f.impl = "nobody"
	if _, err := f.implementations(&benchOnDemand{}); err == nil || !strings.Contains(err.Error(), "known: ") {
		t.Errorf("%v: want what is known", err)
	}
}
