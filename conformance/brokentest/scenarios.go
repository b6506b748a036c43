package brokentest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules"
	"github.com/rdma-gauntlet/gauntlet/conformance/scenarios"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
)

// Scenarios runs the correct engine over the conformance scenarios whose names contain the name of the family. Each
// rule that a scenario names must pass, and no rule may fail. A scenario runs from every start PSN with the build tag
// sweep, otherwise from one.
func Scenarios(t *testing.T, family string, right engine.Implementation) {
	n := 0
	for _, s := range scenarios.All() {
		if !strings.Contains(s.Name, family) {
			continue
		}
		n++
		for _, start := range inTurn(starts(&right), n) {
			spec, err := s.Spec()
			if err != nil {
				t.Fatal(err)
			}
			if start != 0 && movable(spec) {
				spec.Start(start)
			}
			o, what := Judged(t, spec, right), fmt.Sprintf("%s from %d", s.Name, start)
			o.Clean(t, what, rules.All())
			for _, id := range s.Rules {
				if v := o.Verdicts[id]; v.Status != rule.Pass {
					t.Errorf("%s: %s is %s", what, id, describe(&v))
				}
			}
		}
	}
	if n == 0 {
		t.Errorf("no scenario is called %s", family)
	}
}
