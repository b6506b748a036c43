// Package brokentest proves the rules of a family by engines that are wrong on purpose: each rule fails on the engines
// that name it, and on the right engine none does, whatever the link.
package brokentest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/judging"
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/sim"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
)

// Outcome is a run that has been judged.
type Outcome struct {
	Verdicts map[string]rule.Verdict // of every rule, by ID
	declared []string                // features, with those that the parameters of the run add
}

// Judged runs a Spec in virtual time with the same implementation at both ends. A broken engine may well never finish
// its work: then the verdicts over what it did count.
func Judged(t *testing.T, spec *scenario.Spec, impl engine.Implementation) *Outcome {
	t.Helper()
	o, err := judging.Simulate(t.Context(), spec, impl, rules.All())
	if err != nil && !errors.Is(err, sim.ErrLimit) {
		t.Fatal(err)
	}
	return &Outcome{o.ByRule(), o.Features}
}

// Clean fails for each of the rules that a right engine breaks, and for one that judges it although it needs a feature
// that the engine does not declare. What names the run.
func (o *Outcome) Clean(t *testing.T, what string, list []rule.Rule) {
	t.Helper()
	for _, r := range list {
		v := o.Verdicts[r.ID]
		fine := v.Status == rule.NotApplicable
		if r.AppliesTo(o.declared) {
			fine = v.Status == rule.Pass || v.Status == rule.Inconclusive
		}
		if !fine {
			t.Errorf("%s: %s is %s", what, r.ID, describe(&v))
		}
	}
}

// describe gives a verdict and its first findings, one to a line.
func describe(v *rule.Verdict) string {
	text := fmt.Sprintf("%s (met %d, found %d) %s", v.Status, v.Met, v.Total, v.Reason)
	for _, f := range v.Findings[:min(3, len(v.Findings))] {
		text += fmt.Sprintf("\n    %s conn %d %s: %s", f.At.Micros(), f.Conn, f.Blame, f.Text)
	}
	return text
}

// parse reads a scenario.
func parse(t *testing.T, text string) *scenario.Spec {
	t.Helper()
	spec, err := scenario.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return spec
}
