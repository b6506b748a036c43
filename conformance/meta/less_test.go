package meta

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/meta/degrade"
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/trace/fixture"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// TestLessOfFixtures removes evidence from every fixture, in one way each; with the build tag less in every way
// (META-LESS-001, META-MORE-001).
func TestLessOfFixtures(t *testing.T) {
	paths, err := filepath.Glob("../rules/*/testdata/*/*.trace")
	if err != nil || len(paths) == 0 {
		t.Fatal("no fixtures", err)
	}
	// A fixture's reports and attributes of the ends are those that its rule needs.
	ways := slices.DeleteFunc(Ways(), func(w Way) bool { return w.Told || w.Stated })
	for n, path := range paths {
		if testing.Short() && n%4 != 0 {
			continue
		}
		of := ways[n*7%len(ways):][:1]
		if everything {
			of = ways
		}
		r := fixtureAt(t, path)
		less, more, err := FromLess(Judged, rules.All(), []*Recording{r}, func(int) []Way { return of })
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range append(less.Findings, more.Findings...) {
			t.Errorf("%s: %s", f.Rule, f.Text)
		}
	}
}

// TestLessOfFrames lets a capture of a fixture that passes lack each single frame, each two neighbours, each beginning
// and each end (META-LESS-001); without the build tag less of few fixtures.
func TestLessOfFrames(t *testing.T) {
	paths, err := filepath.Glob("../rules/*/testdata/*/pass*.trace")
	if err != nil || len(paths) == 0 {
		t.Fatal("no fixtures", err)
	}
	for n, path := range paths {
		if !everything && n%fewFrames != 0 {
			continue
		}
		r := fixtureAt(t, path)
		wires, err := degrade.Wires(r.Header, r.Play)
		if err != nil {
			t.Fatal(path, err)
		}
		var ways []Way
		for _, v := range degrade.Views {
			if harms := degrade.Stretches(v.Of(wires[0])); !v.OneWay && len(wires) == 1 && len(harms) < mostStretches {
				for _, h := range harms {
					ways = append(ways, Way{View: v, Harm: h})
				}
			}
		}
		less, more, err := FromLess(Judged, rules.All(), []*Recording{r}, func(int) []Way { return ways })
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range append(less.Findings, more.Findings...) {
			t.Errorf("%s: %s", f.Rule, f.Text)
		}
	}
}

// Limits of TestLessOfFrames: without the build tag less it takes one of fewFrames fixtures, and never a view of one
// with mostStretches harms, which are several per frame.
const (
	fewFrames     = 100
	mostStretches = 200
)

// fixtureAt reads a fixture, with the features that its rule and the fixture name.
func fixtureAt(t *testing.T, path string) *Recording {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := fixture.Parse(bytes.NewReader(text), psn.Half-2)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	id := filepath.Base(filepath.Dir(path))
	r := &Recording{Name: id + "/" + filepath.Base(path), Header: f.Header}
	if i := slices.IndexFunc(rules.All(), func(r rule.Rule) bool { return r.ID == id }); i >= 0 {
		r.Options.Features = rules.All()[i].Features
	}
	if len(r.Options.Features) == 0 {
		r.Options.Features = []string{"rc"}
	}
	if m := declares.FindSubmatch(text); m != nil {
		r.Options.Features = append(slices.Clone(r.Options.Features), strings.Fields(string(m[1]))...)
	}
	for _, e := range f.Header.Conns[0].Ends { // as engine.Implementation.DeclaresWith says
		r.Options.Features = slices.Concat(r.Options.Features, slices.Sorted(maps.Keys(e.QP.Params)))
	}
	f.Play(r)
	return r
}

// declares is the line of a fixture that names features of the endpoints.
var declares = regexp.MustCompile(`(?m)^# features (.+)$`)

// TestLessIsNoticed: a rule that takes an unseen event for one that did not happen fails.
func TestLessIsNoticed(t *testing.T) {
	hasty := check(0, func(c *rule.Context) rule.Check {
		sent := 0
		return rule.Check{Sight: func(*rule.Sight) { c.Met(); sent++ }, End: func(vtime.Time) {
			if sent < 3 {
				c.Fail(rule.Requester, "too few")
			}
		}}
	})
	v, _, err := FromLess(Judged, hasty, []*Recording{recorded(t, lossy)}, func(int) []Way { return Ways() })
	status(t, "counts", v, err, rule.Fail, "X-Y-001 is PASS, and FAIL with less: too few")
}

// TestMoreIsNoticed: a rule that passes where it cannot see the event that it fails for fails the test.
func TestMoreIsNoticed(t *testing.T) {
	blind := check(0, func(c *rule.Context) rule.Check {
		whole := false
		return rule.Check{Sight: func(s *rule.Sight) { whole = whole || s.Pkt.Len == 1024 && s.ICRC == trace.Good },
			End: func(vtime.Time) {
				if !whole {
					c.Met()
					return
				}
				c.Fail(rule.Requester, "whole")
			}}
	})
	cut := slices.DeleteFunc(Ways(), func(w Way) bool {
		return w.View.Name != "both" || w.Harm.Name != "128 bytes kept" || w.Told
	})
	_, v, err := FromLess(Judged, blind, []*Recording{recorded(t, lossy)}, func(int) []Way { return cut })
	status(t, "cut", v, err, rule.Fail, "X-Y-001 is FAIL (met 1), and PASS with less (met 1): whole")
}
