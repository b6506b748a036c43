package fasr

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules"
	rulesfasr "github.com/rdma-gauntlet/gauntlet/conformance/rules/fasr"
	"github.com/rdma-gauntlet/gauntlet/conformance/scenarios"
	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/sim"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/impls/fasr"
)

var starts = []psn.PSN{0, psn.Half - 2, psn.Mask - 2}

// judged runs a Spec with the same implementation at both ends and returns what every rule says, by ID.
func judged(t *testing.T, spec *scenario.Spec, impl engine.Implementation, start psn.PSN) map[string]rule.Verdict {
	t.Helper()
	spec.Start(start)
	var judge *rule.Judge
	job := bench.Job{Spec: spec, Impls: [2]engine.Implementation{impl, impl}, Bytes: true,
		Open: func(h trace.Header) (trace.Sink, error) {
			judge = rule.NewJudge(h, rules.All(), rule.Options{Features: impl.Declares()})
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

func read(t *testing.T, name string) *scenario.Spec {
	t.Helper()
	spec, err := scenario.ReadFile(filepath.Join("testdata", name+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

// TestMutants runs every variant over its scenarios: each rule that it names must fail on it and pass on the right
// engine, which must break no rule at all.
func TestMutants(t *testing.T) {
	for _, start := range starts {
		right := map[string]map[string]rule.Verdict{}
		for _, v := range Engines() {
			t.Run(fmt.Sprintf("%s@%d", v.Name, start), func(t *testing.T) {
				for _, name := range v.Scenarios {
					if right[name] == nil {
						right[name] = judged(t, read(t, name), fasr.Implementation(), start)
						clean(t, name, rules.All(), right[name])
					}
					mutant(t, &v, judged(t, read(t, name), v.Impl, start), right[name])
				}
			})
		}
	}
}

func mutant(t *testing.T, v *Variant, broken, right map[string]rule.Verdict) {
	t.Helper()
	for _, id := range v.Catches {
		b, r := broken[id], right[id]
		if b.Status != rule.Fail || r.Status != rule.Pass {
			t.Errorf("%s: broken %s, right %s", id, describe(&b), describe(&r))
		}
	}
}

// clean fails for every one of the rules that the right engine breaks.
func clean(t *testing.T, name string, list []rule.Rule, all map[string]rule.Verdict) {
	t.Helper()
	for _, r := range list {
		if v := all[r.ID]; v.Status != rule.Pass && v.Status != rule.Inconclusive && v.Status != rule.NotApplicable {
			t.Errorf("%s: %s is %s", name, r.ID, describe(&v))
		}
	}
}

func describe(v *rule.Verdict) string {
	text := fmt.Sprintf("%s (met %d, found %d) %s", v.Status, v.Met, v.Total, v.Reason)
	for _, f := range v.Findings[:min(3, len(v.Findings))] {
		text += fmt.Sprintf("\n    %s conn %d %s: %s", f.At.Micros(), f.Conn, f.Blame, f.Text)
	}
	return text
}

// TestScenarios runs the right engine over the scenarios of the family: every rule that one names must pass.
func TestScenarios(t *testing.T) {
	n := 0
	for _, s := range scenarios.All() {
		if !strings.Contains(s.Name, "fasr") {
			continue
		}
		n++
		for _, start := range starts {
			spec, err := s.Spec()
			if err != nil {
				t.Fatal(err)
			}
			got := judged(t, spec, fasr.Implementation(), start)
			clean(t, s.Name, rules.All(), got)
			for _, id := range s.Rules {
				if v := got[id]; v.Status != rule.Pass {
					t.Errorf("%s from %d: %s is %s", s.Name, start, id, describe(&v))
				}
			}
		}
	}
	if n < 14 {
		t.Errorf("%d scenarios of the family", n)
	}
}

// TestRightEngineUnderStress runs the right engine both ways over links that lose, jitter, repeat and damage packets,
// which is where a rule of the family that is too strict shows.
func TestRightEngineUnderStress(t *testing.T) {
	links := []string{"rate=10G delay=10us queue=1000", "rate=100G delay=10us queue=1000", "rate=1G delay=5ms queue=40 jitter=100us",
		"rate=10G delay=100us queue=1000 reorder=5%"}
	hurts := []string{"loss random p=0.02", "loss gemodel p=0.01 r=0.3", "dup A count=*\ndup B count=*",
		"corrupt A nth=10 count=5 field=any\ncorrupt B nth=10 count=5 field=any", "loss random p=0.05\nparam units=1 blocks=2",
		"loss random p=0.05\nparam lostcnt_credit=true lc1_exact=true"}
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
				clean(t, text, rulesfasr.Rules(), judged(t, spec, fasr.Implementation(), starts[seed%3]))
			}
		}
	}
}

// TestEveryRuleIsCaught holds the family against the variants, and the scenarios against both.
func TestEveryRuleIsCaught(t *testing.T) {
	catches, used := map[string]bool{}, map[string]bool{}
	for _, v := range Engines() {
		for _, id := range v.Catches {
			catches[id] = true
		}
		for _, s := range v.Scenarios {
			used[s] = true
		}
	}
	for _, r := range rulesfasr.Rules() {
		if !catches[r.ID] {
			t.Errorf("%s: no variant breaks it", r.ID)
		}
		delete(catches, r.ID)
	}
	for id := range catches {
		t.Errorf("%s: there is no such rule", id)
	}
	if !slices.IsSortedFunc(Engines(), func(a, b Variant) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("not sorted by name")
	}
	files, _ := os.ReadDir("testdata")
	for _, f := range files {
		if !used[strings.TrimSuffix(f.Name(), ".txt")] {
			t.Errorf("testdata/%s: no variant uses it", f.Name())
		}
	}
}
