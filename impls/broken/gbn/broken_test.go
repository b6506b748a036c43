package gbn

import (
	"io/fs"
	"path"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/brokentest"
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/impls/broken"
	"github.com/rdma-gauntlet/gauntlet/impls/gobackone"
	"github.com/rdma-gauntlet/gauntlet/impls/openapn"
)

func TestMutants(t *testing.T) { brokentest.Mutants(t, Family()) }

func TestComplete(t *testing.T) { brokentest.Complete(t, Family(), nil) }

func TestRightEngineUnderStress(t *testing.T) {
	ordeal := brokentest.Usual()
	ordeal.Links[1] = "delay=10us" // with no rate, many things happen at once
	for _, right := range []func() engine.Implementation{nil, gobackone.Implementation} {
		r := recipe{right: right}
		brokentest.Stress(t, r.asItShouldBe(), rules.All(), ordeal)
	}
}

// TestRightEngineAtEveryStart runs each right engine over all its scenarios from start PSNs around the sign change and
// the wrap: no rule may say anything else than it says from 0.
func TestRightEngineAtEveryStart(t *testing.T) {
	family := Family()
	for dir, right := range map[string]func() engine.Implementation{".": nil, "gobackone": gobackone.Implementation,
		"openapn": openapn.Implementation} {
		if testing.Short() && dir != "gobackone" {
			continue
		}
		files, err := fs.Glob(stimuli, path.Join("testdata", dir, "*.txt"))
		if err != nil {
			t.Fatal(err)
		}
		r := recipe{right: right}
		for _, file := range files {
			if name := strings.TrimSuffix(path.Base(file), ".txt"); name != "fuzz" { // its frames count from 0
				everyStart(t, &family, path.Join(dir, name), r.asItShouldBe())
			}
		}
	}
}

func everyStart(t *testing.T, f *broken.Family, name string, impl engine.Implementation) {
	var plain map[string]rule.Verdict
	for _, start := range []psn.PSN{0, psn.Half - 2, psn.Mask - 2} {
		text, err := f.Stimulus(name)
		if err != nil {
			t.Fatal(err)
		}
		spec, err := scenario.Parse(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		spec.Start(start)
		all := brokentest.Judged(t, spec, impl).Verdicts
		if start == 0 {
			plain = all
		}
		for id, got := range all {
			// Only a run across the wrap exercises the rule about it.
			if want := plain[id]; got.Status != want.Status && id != "RC-PSN-003" || got.Status == rule.Fail {
				t.Errorf("%s from %d: %s is %s %v; from 0 %s", name, start, id, got.Status, got.Findings, want.Status)
			}
		}
	}
}
