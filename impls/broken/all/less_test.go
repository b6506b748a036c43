package all

import (
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/meta"
	"github.com/rdma-gauntlet/gauntlet/conformance/meta/record"
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/impls/broken"
)

// TestLessOfBrokenEngines removes evidence from runs of broken engines: a rule that an engine breaks may become
// INCONCLUSIVE but must not PASS, and no other rule may FAIL (META-LESS-001, META-MORE-001). A sample of the engines is
// judged in one way each; with the build tag less every engine in many.
func TestLessOfBrokenEngines(t *testing.T) {
	all, every, each := meta.Ways(), 7, 1
	if everything {
		every, each = 1, 24
	}
	of(t, every, func(n int, r *meta.Recording) {
		ways := make([]meta.Way, each)
		for k := range ways {
			ways[k] = all[(n*7+k*11)%len(all)]
		}
		less, more, err := meta.FromLess(meta.Judged, rules.All(), []*meta.Recording{r},
			func(int) []meta.Way { return ways })
		if err != nil {
			t.Fatal(err)
		}
		report(t, less, more)
	})
}

// TestUnprovenOfBrokenEngines lets properties of link, capture and host fail in the same runs (META-VAL-001).
func TestUnprovenOfBrokenEngines(t *testing.T) {
	every := 60
	if everything {
		every = 1
	}
	of(t, every, func(_ int, r *meta.Recording) {
		v, err := meta.Unproven(meta.Judged, record.Settle, rules.All(), []*meta.Recording{r})
		if err != nil {
			t.Fatal(err)
		}
		report(t, v)
	})
}

// of calls f with a recording of each broken engine over each of its scenarios, or over a sample of them.
func of(t *testing.T, every int, f func(n int, r *meta.Recording)) {
	t.Helper()
	if testing.Short() {
		every *= 4
	}
	n := 0
	for _, family := range Families() {
		for _, v := range family.Variants {
			for _, name := range v.Scenarios {
				if n++; n%every == 0 {
					f(n, recorded(t, &family, &v, name))
				}
			}
		}
	}
}

// recorded records a broken engine over a scenario.
func recorded(t *testing.T, f *broken.Family, v *broken.Variant, name string) *meta.Recording {
	t.Helper()
	text, err := f.Stimulus(name)
	if err != nil {
		t.Fatal(err)
	}
	spec, err := scenario.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	r, err := record.Run(t.Context(), spec, v.Impl)
	if err != nil {
		t.Fatal(err)
	}
	r.Name = v.Impl.Name + " " + name
	return r
}

// report reports the findings of experiments.
func report(t *testing.T, verdicts ...rule.Verdict) {
	t.Helper()
	for _, v := range verdicts {
		for _, f := range v.Findings {
			t.Errorf("%s: %s", v.Rule, f.Text)
		}
	}
}
