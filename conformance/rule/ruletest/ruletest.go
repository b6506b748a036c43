// Package ruletest runs a family's rules over fixtures: hand-written traces in which comments state the findings that a
// rule should make.
//
// Fixtures are in testdata/<RULE-ID>/ and are named pass*.trace, fail*.trace and, for traces without the rule's
// stimulus, inconclusive*.trace. Only the rule with the name of the folder is judged. A finding must be claimed by a
// comment on the line of its packet or event,
//
//	B>A NAK psn=+1 msn=0 PSN_SEQ_ERR   // want "second NAK"
//
// and every comment must match a finding. A finding that no line shows, such as a reply that never came, is claimed by
// a line "# want-end "…"". Each fixture runs at three start PSNs, so that errors at the wrap show, unless a line "#
// at-start 16777213" selects one; and with all times a second later, so that no rule depends on absolute time. The test
// fails for a rule without a passing and a failing fixture, for one that passes an empty trace, for one that held and
// fails from a tap between the ports, and for one whose verdict changes when its check is shown every sight. A line "#
// features sr" declares features beyond those that the rule needs, and a line such as "# order A WRITE count=3 len=64"
// orders work of an endpoint (see package example).
package ruletest

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/rule/example"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/trace/fixture"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// bases are the start PSNs: zero, before the sign change of serial arithmetic, and before the wrap.
var bases = []psn.PSN{0, psn.Half - 2, psn.Mask - 2}

// Run runs the fixtures of every rule under dir, the family's testdata folder.
func Run(t *testing.T, rules []rule.Rule, dir string) {
	t.Helper()
	known := map[string]bool{}
	for i := range rules {
		r := &rules[i]
		known[r.ID] = true
		t.Run(r.ID, func(t *testing.T) {
			if r.Unbuilt != "" {
				return // its verdict gives the reason; Catalogue checks that there is one
			}
			empty(t, r)
			fixtures(t, r, filepath.Join(dir, r.ID))
		})
	}
	orphans(t, known, dir)
}

// orphans fails for a folder of fixtures that no rule claims.
func orphans(t *testing.T, known map[string]bool, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() && strings.Contains(e.Name(), "-") && !known[e.Name()] {
			t.Errorf("%s: fixtures of a rule that the family does not list", filepath.Join(dir, e.Name()))
		}
	}
}

// empty runs a rule over an empty trace: it must be INCONCLUSIVE.
func empty(t *testing.T, r *rule.Rule) {
	t.Helper()
	e, err := example.Parse(r, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	if v := e.Judge(0); v.Status != rule.Inconclusive {
		t.Errorf("an empty trace gives %v, want INCONCLUSIVE", v.Status)
	}
}

// kinds are the first words of the names of fixtures, with the status that the rule must have.
var kinds = []struct {
	name   string
	status rule.Status
	needed bool
}{{"pass", rule.Pass, true}, {"fail", rule.Fail, true}, {"inconclusive", rule.Inconclusive, false}}

// fixtures runs the fixtures of one rule.
func fixtures(t *testing.T, r *rule.Rule, dir string) {
	t.Helper()
	run := 0
	for _, kind := range kinds {
		paths, _ := filepath.Glob(filepath.Join(dir, kind.name+"*.trace"))
		if len(paths) == 0 && kind.needed {
			t.Errorf("no %s fixture in %s: write one", kind.name, dir)
		}
		for _, path := range paths {
			run++
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, base := range startsOf(t, text) {
				name := strings.TrimSuffix(filepath.Base(path), ".trace")
				t.Run(fmt.Sprintf("%s@%d", name, base), func(t *testing.T) { try(t, r, text, base, kind.status) })
			}
		}
	}
	if all, _ := os.ReadDir(dir); len(all) != run {
		t.Errorf("%s: %d files, %d are fixtures by their names", dir, len(all), run)
	}
}

// startsOf returns the start PSNs of a fixture.
func startsOf(t *testing.T, text []byte) []psn.PSN {
	t.Helper()
	start, only, err := example.Start(text)
	switch {
	case err != nil:
		t.Fatal(err)
	case only:
		return []psn.PSN{start}
	}
	return bases
}

// try runs one rule over one fixture and compares verdict and findings with the fixture's comments.
func try(t *testing.T, r *rule.Rule, text []byte, base psn.PSN, want rule.Status) {
	t.Helper()
	problems, err := check(r, text, base, want)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Error(p)
	}
}

// check returns the differences between a rule's findings and a fixture.
func check(r *rule.Rule, text []byte, base psn.PSN, want rule.Status) (problems []string, err error) {
	e, err := example.Parse(r, text, base)
	if err != nil {
		return nil, err
	}
	v := e.Judge(0)
	fails := want == rule.Fail
	if fails && r.Level == rule.Observation {
		want = rule.Pass
	}
	attentive, err := example.Parse(new(r.Attentive()), text, base)
	if err != nil {
		return nil, err
	}
	if diff := cmp.Diff(attentive.Judge(0), v); diff != "" {
		problems = append(problems, "what wakes its check, or the kinds that it minds, change the verdict "+
			"(-attentive +given):\n"+diff)
	}
	if v.Status != want {
		problems = append(problems, fmt.Sprintf("verdict %v (%s), want %v", v.Status, v.Reason, want))
	}
	if fails && len(v.Findings) == 0 {
		problems = append(problems, "a failing fixture without findings")
	}
	if !fails {
		problems = append(problems, between(e, r)...)
	}
	unclaimed, err := claim(e.Trace, text, v.Findings)
	if diff := cmp.Diff(v.Findings, shiftBack(e.Judge(vtime.Second).Findings)); diff != "" {
		problems = append(problems, "the same trace a second later gives other findings:\n"+diff)
	}
	return append(problems, unclaimed...), err
}

// claim matches findings with the fixture's comments and returns those of either without a match.
func claim(f *fixture.Trace, text []byte, findings []rule.Finding) (problems []string, err error) {
	const end = 0 // no line has this number
	wants := map[int][]*regexp.Regexp{}
	for line, w := range f.Wants {
		wants[line] = append(wants[line], w...)
	}
	if wants[end], err = endWants(text); err != nil {
		return nil, err
	}
	for i := range findings {
		line, found := lineOf(f, &findings[i]), false
		if wants[line], found = strike(wants[line], findings[i].Text); !found {
			problems = append(problems, fmt.Sprintf("line %d: finding that no comment claims: %s: %s", line,
				findings[i].Blame, findings[i].Text))
		}
	}
	for _, line := range slices.Sorted(maps.Keys(wants)) {
		for _, w := range wants[line] {
			problems = append(problems, fmt.Sprintf("line %d: no finding matches %q", line, w))
		}
	}
	return problems, nil
}

// lineOf returns the line that shows a finding; 0 when it was made at the end of the trace and names no packet.
func lineOf(f *fixture.Trace, finding *rule.Finding) int {
	if finding.Record == rule.NoRecord && finding.At > f.Until {
		return 0
	}
	return f.Line(finding.Record, finding.At)
}

// strike removes the first expression that matches text.
func strike(list []*regexp.Regexp, text string) ([]*regexp.Regexp, bool) {
	for i, w := range list {
		if w.MatchString(text) {
			return append(list[:i:i], list[i+1:]...), true
		}
	}
	return list, false
}

var endWant = regexp.MustCompile(`(?m)^# want-end "(.*)"$`)

func endWants(text []byte) (list []*regexp.Regexp, err error) {
	for _, m := range endWant.FindAllSubmatch(text, -1) {
		w, err := regexp.Compile(string(m[1]))
		if err != nil {
			return nil, err
		}
		list = append(list, w)
	}
	return list, nil
}

func shiftBack(findings []rule.Finding) []rule.Finding {
	for i := range findings {
		findings[i].At = findings[i].At.Add(-vtime.Second)
	}
	return findings
}
