package brokentest

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/impls/broken"
)

// starts returns the start PSNs of the runs of an implementation: 0, which stands for the scenario's own, and, for a
// transport with PSNs, one before the sign change of serial arithmetic and one before the wrap.
func starts(impl *engine.Implementation) []psn.PSN {
	if impl.OverIP() {
		return []psn.PSN{0}
	}
	return []psn.PSN{0, psn.Half - 2, psn.Mask - 2}
}

// inTurn returns the start with number turn, modulo their number, or all of them with the build tag sweep.
func inTurn(all []psn.PSN, turn int) []psn.PSN {
	if everything {
		return all
	}
	turn %= len(all)
	return all[turn : turn+1]
}

// movable reports whether a scenario may start from any PSN: it sets no start PSN, and has no fuzzed frames with PSNs.
func movable(s *scenario.Spec) bool {
	return !s.Reads.Fuzz && s.QP[0].SendPSN == 0 && s.QP[1].SendPSN == 0
}

// Mutants runs every variant over its scenarios. Each rule that a variant names must fail on it and pass on the correct
// engine, which must break no rule at all. It runs from every start PSN with the build tag sweep, otherwise from one;
// with -short it runs every fourth variant, without the million frames of the scenario fuzz.
func Mutants(t *testing.T, f broken.Family) {
	m := mutants{family: f, right: map[string]*Outcome{}}
	for i, v := range f.Variants {
		if !everything && testing.Short() && (i%4 != 0 || slices.Contains(v.Scenarios, "fuzz")) {
			continue
		}
		for _, start := range m.starts(t, &v, i) {
			t.Run(fmt.Sprintf("%s@%d", v.Name, start), func(t *testing.T) { m.try(t, &v, start) })
		}
	}
}

// mutants is a family under test, with the outcomes of the correct engines.
type mutants struct {
	family broken.Family
	right  map[string]*Outcome
}

// starts returns the start PSNs of a variant: all with the build tag sweep, otherwise one at which its scenarios can
// start.
func (m *mutants) starts(t *testing.T, v *broken.Variant, turn int) []psn.PSN {
	t.Helper()
	for _, name := range v.Scenarios {
		if !movable(m.spec(t, name)) {
			turn = 0 // a scenario that is not movable starts at its own PSN only
		}
	}
	return inTurn(starts(&v.Right), turn)
}

func (m *mutants) try(t *testing.T, v *broken.Variant, start psn.PSN) {
	found := map[string]bool{}
	for _, name := range v.Scenarios {
		wrong, right := m.judged(t, name, v.Impl, start), m.control(t, name, v.Right, start)
		if wrong == nil {
			return
		}
		for _, id := range v.Catches {
			w, r := wrong.Verdicts[id], right.Verdicts[id]
			if found[id] = found[id] || w.Tells(&r); !found[id] {
				t.Logf("%s, %s: broken %s, right %s", name, id, describe(&w), describe(&r))
			}
		}
	}
	for _, id := range v.Catches {
		if !found[id] {
			t.Errorf("%s does not catch it", id)
		}
	}
}

// judged runs a scenario of the family; it returns nil when the scenario cannot start at start.
func (m *mutants) judged(t *testing.T, name string, impl engine.Implementation, start psn.PSN) *Outcome {
	t.Helper()
	spec := m.spec(t, name)
	if start != 0 {
		if !movable(spec) {
			return nil
		}
		spec.Start(start)
	}
	return Judged(t, spec, impl)
}

// spec reads a scenario of the family.
func (m *mutants) spec(t *testing.T, name string) *scenario.Spec {
	t.Helper()
	text, err := m.family.Stimulus(name)
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, text)
}

// control runs a scenario with the correct engine, once for all variants that share both.
func (m *mutants) control(t *testing.T, name string, impl engine.Implementation, start psn.PSN) *Outcome {
	t.Helper()
	key := fmt.Sprintf("%s, %s, over %s from %d", impl.Name, impl.Title, name, start)
	o, ok := m.right[key]
	if !ok {
		o = m.judged(t, name, impl, start)
		m.right[key] = o
		if o != nil {
			o.Clean(t, key, rules.All())
		}
	}
	return o
}

// Complete checks the lists of a family: its variants must name every rule of own and, unless own is nil, no other
// rule, and every scenario must be used by a variant.
func Complete(t *testing.T, f broken.Family, own []rule.Rule) {
	catches, used, names := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, v := range f.Variants {
		if v.Name == "" || v.Breaks == "" || len(v.Catches) == 0 || len(v.Scenarios) == 0 || names[v.Name] {
			t.Errorf("%q: incomplete, or not unique", v.Name)
		}
		names[v.Name] = true
		for _, id := range v.Catches {
			catches[id] = true
		}
		for _, s := range v.Scenarios {
			used["testdata/"+s+".txt"] = true
		}
	}
	if !slices.IsSortedFunc(f.Variants, func(a, b broken.Variant) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("not sorted by name")
	}
	for _, r := range own {
		if !catches[r.ID] && r.Level != rule.Observation {
			t.Errorf("%s: no variant breaks it", r.ID)
		}
		delete(catches, r.ID)
	}
	for id := range catches {
		if own != nil {
			t.Errorf("%s: is no rule of the family", id)
		}
	}
	if err := fs.WalkDir(f.Stimuli, ".", func(path string, d fs.DirEntry, err error) error {
		if !d.IsDir() && !used[path] {
			t.Errorf("%s: no variant uses it", path)
		}
		return err
	}); err != nil {
		t.Error(err)
	}
}
