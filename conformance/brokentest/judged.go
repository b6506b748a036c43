// Package brokentest tests the rules of a family on broken engines: each rule fails on the broken engines that name it,
// and no rule fails on the correct engine, whatever the link.
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

// Outcome is the result of a judged run.
type Outcome struct {
	Verdicts map[string]rule.Verdict // of every rule, by ID
	declared []string                // features, with those that the parameters of the run add
}

// Judged runs a Spec in virtual time with the same implementation at both ends. A broken engine may never finish its
// work; the verdicts are then about the run up to its limit.
func Judged(t *testing.T, spec *scenario.Spec, impl engine.Implementation) *Outcome {
	t.Helper()
	o, err := judging.Simulate(t.Context(), spec, impl, rules.All())
	if err != nil && !errors.Is(err, sim.ErrLimit) {
		t.Fatal(err)
	}
	return &Outcome{o.ByRule(), o.Features}
}

// Clean fails for each rule of list that the engine breaks, and for each that judges the engine although it needs a
// feature that the engine does not declare. what names the run.
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

// describe returns a verdict and its first findings, one per line.
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
