package broken

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules"
	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/sim"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	brokenfasr "github.com/rdma-gauntlet/gauntlet/impls/broken/fasr"
	"github.com/rdma-gauntlet/gauntlet/impls/gbn"
	"github.com/rdma-gauntlet/gauntlet/impls/gobackone"
)

// features are all that any rule asks for of a transport: a scenario provokes only what it is about. The rules of other
// transports stay not applicable.
func features(impl *engine.Implementation) []string {
	return append(impl.Declares(), "ud", "extension", "nack_interval", "backto0")
}

// transports are the right engines, with the folder of their scenarios.
var transports = []struct {
	dir  string
	impl engine.Implementation
}{{"", gbn.Implementation()}, {"gobackone", gobackone.Implementation()}}

// asWritten leaves the start PSN of a scenario as it is.
const asWritten = psn.PSN(psn.Mask + 1)

// verdicts runs a scenario with the same implementation at both ends and returns what every rule says, by ID.
func verdicts(t *testing.T, name string, impl engine.Implementation, start psn.PSN) map[string]rule.Verdict {
	t.Helper()
	spec, err := scenario.ReadFile(filepath.Join("testdata", name+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	if start != asWritten {
		spec.Start(start)
	}
	return judged(t, spec, impl)
}

// judged runs a Spec with the same implementation at both ends.
func judged(t *testing.T, spec *scenario.Spec, impl engine.Implementation) map[string]rule.Verdict {
	t.Helper()
	var judge *rule.Judge
	job := bench.Job{Spec: spec, Impls: [2]engine.Implementation{impl, impl}, Bytes: true,
		Open: func(h trace.Header) (trace.Sink, error) {
			judge = rule.NewJudge(h, rules.All(), rule.Options{Features: features(&impl)})
			return trace.NewTimeline(&h, judge), nil
		}}
	if _, err := (sim.Bench{}).Run(context.Background(), &job); err != nil && !errors.Is(err, sim.ErrLimit) {
		t.Fatal(err)
	}
	all := map[string]rule.Verdict{}
	for _, v := range judge.Verdicts() {
		all[v.Rule] = v
	}
	return all
}

// caught reports whether a rule tells a broken engine from the right one. An observation never fails: it has to find
// more, or less, than it finds on the right engine.
func caught(broken, right *rule.Verdict) bool {
	if right.Status != rule.Pass {
		return false
	}
	if right.Level == rule.Observation {
		return (broken.Total > 0) != (right.Total > 0)
	}
	return broken.Status == rule.Fail
}

// TestMutants runs every variant over its scenarios, as written and across the wrap: each rule that it names must fail on
// it and pass on the right engine, which must break no rule at all.
func TestMutants(t *testing.T) {
	for _, start := range []psn.PSN{asWritten, psn.Mask - 2} {
		controls := map[string]map[string]rule.Verdict{}
		for _, v := range Engines() {
			if v.Scenarios[0] == "fuzz" && start != asWritten {
				continue // its frames count from 0
			}
			t.Run(fmt.Sprintf("%s@%d", v.Name, start), func(t *testing.T) { mutant(t, &v, start, controls) })
		}
	}
}

// mutant runs one variant; controls keeps what the rules say of the right engines.
func mutant(t *testing.T, v *Variant, start psn.PSN, controls map[string]map[string]rule.Verdict) {
	found := map[string]bool{}
	for _, s := range v.Scenarios {
		key := s + " of " + controlName(v)
		if controls[key] == nil {
			controls[key] = verdicts(t, s, v.Control, start)
			clean(t, key, controls[key], features(&v.Control))
		}
		got := verdicts(t, s, v.Impl, start)
		for _, id := range v.Catches {
			b, r := got[id], controls[key][id]
			found[id] = found[id] || caught(&b, &r)
			if !found[id] {
				t.Logf("%s, %s: broken %s, right %s", s, id, describe(&b), describe(&r))
			}
		}
	}
	for _, id := range v.Catches {
		if !found[id] {
			t.Errorf("%s does not catch it", id)
		}
	}
}

// TestRightEngineAtEveryStart runs each right engine over all its scenarios from start PSNs around the sign change and the
// wrap: no rule may say anything else than it says from 0.
func TestRightEngineAtEveryStart(t *testing.T) {
	for _, x := range transports {
		files, _ := filepath.Glob(filepath.Join("testdata", x.dir, "*.txt"))
		for _, file := range files {
			if name := strings.TrimSuffix(filepath.Base(file), ".txt"); name != "fuzz" { // its frames count from 0
				everyStart(t, filepath.Join(x.dir, name), x.impl)
			}
		}
	}
}

func everyStart(t *testing.T, name string, impl engine.Implementation) {
	plain := verdicts(t, name, impl, 0)
	for _, start := range []psn.PSN{psn.Half - 2, psn.Mask - 2} {
		for id, got := range verdicts(t, name, impl, start) {
			// Only a run across the wrap exercises the rule about it.
			if want := plain[id]; got.Status != want.Status && id != "RC-PSN-003" || got.Status == rule.Fail {
				t.Errorf("%s from %d: %s is %s; from 0 %s", name, start, id, describe(&got), describe(&want))
			}
		}
	}
}

// TestRightEngineUnderStress runs the right engines both ways over links that lose, jitter, repeat and damage packets, which is
// where a rule that is too strict shows.
func TestRightEngineUnderStress(t *testing.T) {
	links := []string{"rate=10G delay=10us queue=1000", "delay=10us", "rate=1G delay=5ms queue=40 jitter=100us",
		"rate=10G delay=100us queue=1000 reorder=5%"}
	hurts := []string{"loss random p=0.02", "loss gemodel p=0.01 r=0.3", "dup A count=*\ndup B count=*",
		"corrupt A nth=10 count=5 field=any\ncorrupt B nth=10 count=5 field=any"}
	works := []string{"load read msg=5000 count=10\nload write msg=100 count=10\nqp rto=30ms ackreq=3 coalesce=4",
		"load write-imm msg=2049 count=20\nload read from=B msg=4096 count=5\nload send from=B msg=1 count=20\nqp rto=40ms receives=2",
		"load send msg=3000 count=20\nqp rto=20ms mtu=256 cqmod=5 qd=20 count=2 rd=2"}
	seed := 0
	for _, link := range links {
		for _, hurt := range hurts {
			for _, work := range works {
				seed++
				text := fmt.Sprintf("seed %d\nlink %s\n%s\n%s\nreport detail\n", seed, link, hurt, work)
				spec, err := scenario.Parse(strings.NewReader(text))
				if err != nil {
					t.Fatal(err)
				}
				for _, x := range transports {
					clean(t, x.impl.Name+": "+text, judged(t, spec, x.impl), features(&x.impl))
				}
			}
		}
	}
}

// controlName tells the controls apart that are more than go-back-N.
func controlName(v *Variant) string {
	for _, r := range extensions() {
		if r.name == v.Name && (r.control != nil || r.controlImpl != nil) {
			return r.name
		}
	}
	return v.Control.Name
}

// clean fails for every rule that the right engine breaks; a rule that needs what it does not declare says nothing.
func clean(t *testing.T, key string, all map[string]rule.Verdict, declared []string) {
	t.Helper()
	for _, r := range rules.All() {
		v := all[r.ID]
		missing := slices.ContainsFunc(r.Features, func(f string) bool { return !slices.Contains(declared, f) })
		if v.Status != rule.Pass && v.Status != rule.Inconclusive && !(missing && v.Status == rule.NotApplicable) {
			t.Errorf("%s: %s is %s", key, r.ID, describe(&v))
		}
	}
}

func describe(v *rule.Verdict) string {
	text := fmt.Sprintf("%s (met %d, found %d) %s", v.Status, v.Met, v.Total, v.Reason)
	for _, f := range v.Findings[:min(3, len(v.Findings))] {
		text += fmt.Sprintf("\n    %v conn %d %s: %s", f.At, f.Conn, f.Blame, f.Text)
	}
	return text
}

// TestEveryRuleIsCaught holds the catalogue against the variants.
func TestEveryRuleIsCaught(t *testing.T) {
	known, catches := map[string]bool{}, map[string]bool{}
	for _, v := range Engines() {
		for _, id := range v.Catches {
			catches[id] = true
		}
	}
	for _, v := range brokenfasr.Engines() { // tested over there
		for _, id := range v.Catches {
			catches[id] = true
		}
	}
	for _, r := range rules.All() {
		known[r.ID] = true
		if r.Unbuilt == "" && !catches[r.ID] {
			t.Errorf("%s: no variant breaks it", r.ID)
		}
	}
	for id := range catches {
		if !known[id] {
			t.Errorf("%s: there is no such rule", id)
		}
	}
}

func TestVariantsAreComplete(t *testing.T) {
	used, names := map[string]bool{}, map[string]bool{}
	for _, v := range Engines() {
		if v.Name == "" || v.Breaks == "" || len(v.Catches) == 0 || len(v.Scenarios) == 0 || names[v.Name] {
			t.Errorf("%q: incomplete, or not unique", v.Name)
		}
		names[v.Name] = true
		for _, s := range v.Scenarios {
			used[s] = true
		}
		if again, ok := Find(v.Name); !ok || again.Breaks != v.Breaks {
			t.Errorf("Find(%q) finds something else", v.Name)
		}
	}
	if !slices.IsSortedFunc(Engines(), func(a, b Variant) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("not sorted by name")
	}
	for _, x := range transports {
		files, _ := filepath.Glob(filepath.Join("testdata", x.dir, "*.txt"))
		for _, f := range files {
			if name := filepath.Join(x.dir, strings.TrimSuffix(filepath.Base(f), ".txt")); !used[name] {
				t.Errorf("%s: no variant uses it", f)
			}
		}
	}
}
