package all

import (
	"flag"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/meta"
	"github.com/rdma-gauntlet/gauntlet/conformance/meta/record"
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules"
	"github.com/rdma-gauntlet/gauntlet/conformance/scenarios"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
)

// To hunt for longer: go test ./impls/all -run LessOfAnyLegalSpec -args -from=1000 -specs=5000 -ways=6
var (
	perSpec = flag.Int("ways", 1, "ways to lose evidence of a random Spec")
	named   = flag.String("named", "", "only ways to lose evidence whose names contain this")
)

// mostLess is the number of random Specs from which evidence is removed, unless -ways asks for more.
const mostLess = 22

// TestLessOfAnyLegalSpec removes evidence from runs over random Specs, each in a few ways drawn from its seed: no rule
// may fail that passes with all evidence (META-LESS-001).
func TestLessOfAnyLegalSpec(t *testing.T) {
	impls, n := Implementations(), *specs
	all := slices.DeleteFunc(meta.Ways(), func(w meta.Way) bool { return !strings.Contains(w.String(), *named) })
	if *perSpec == 1 {
		n = min(n, mostLess)
	}
	for _, seed := range seeds(t, *from, n) {
		if testing.Short() && seed%4 != 0 {
			continue
		}
		impl := impls[seed%uint64(len(impls))]
		r := recorded(t, legal(seed, impl.Name), impl)
		d := draw{rand.New(rand.NewPCG(seed, 1))}
		var ways []meta.Way
		for range *perSpec {
			ways = append(ways, pick(d, all...))
		}
		v, _, err := meta.FromLess(meta.Judged, rules.All(), []*meta.Recording{r}, func(int) []meta.Way { return ways })
		if err != nil {
			t.Fatal(seed, err)
		}
		for _, f := range v.Findings {
			t.Errorf("LESS %s", f.Text)
		}
	}
}

// TestLessOfScenarios removes evidence from the runs of the conformance suite (META-LESS-001): from a sample of the
// pairs of implementation and scenario in one way each, and with the build tag less from all pairs in more.
func TestLessOfScenarios(t *testing.T) {
	all, every, each := meta.Ways(), 13, 1
	if everything {
		every, each = 1, 8
	}
	if testing.Short() {
		every *= 3
	}
	n := 0
	for _, s := range scenarios.All() {
		for _, impl := range Implementations() {
			if n++; n%every != 0 || !suits(&s, impl.DeclaresWith(nil)) {
				continue
			}
			r := recorded(t, s.Text, impl)
			r.Name = impl.Name + " " + s.Name
			ways := make([]meta.Way, each)
			for k := range ways {
				ways[k] = all[(n*7+k*11)%len(all)]
			}
			v, _, err := meta.FromLess(meta.Judged, rules.All(), []*meta.Recording{r},
				func(int) []meta.Way { return ways })
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range v.Findings {
				t.Errorf("%s: %s", v.Rule, f.Text)
			}
		}
	}
}

// suits reports whether a scenario is for implementations with these features.
func suits(s *scenarios.Scenario, features []string) bool {
	return !slices.ContainsFunc(s.Without, func(f string) bool { return slices.Contains(features, f) }) &&
		slices.ContainsFunc(rules.All(), func(r rule.Rule) bool {
			return slices.Contains(s.Rules, r.ID) && r.AppliesTo(features)
		})
}

// recorded records a run in virtual time with the same implementation at both ends, up to its end.
func recorded(t *testing.T, text string, impl engine.Implementation) *meta.Recording {
	t.Helper()
	spec, err := scenario.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	r, err := record.Run(t.Context(), spec, impl)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
