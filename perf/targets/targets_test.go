package targets

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/memory"
	"github.com/rdma-gauntlet/gauntlet/impls/all"
	"github.com/rdma-gauntlet/gauntlet/perf/metrics"
)

// The targets of the program are complete, use existing runs, and are in their order.
func TestAll(t *testing.T) {
	targets := All()
	if err := Validate(targets); err != nil {
		t.Error(err)
	}
	if !slices.IsSortedFunc(targets, func(a, b Target) int {
		if a.ID[:5] != b.ID[:5] {
			return 0
		}
		return strings.Compare(a.ID, b.ID)
	}) {
		t.Error("the targets of a paper are out of order")
	}
	for _, target := range targets {
		for _, c := range target.Checks {
			for _, text := range c.Runs {
				s, err := Parse(text)
				if err != nil {
					t.Fatal(err)
				}
				impl, ok := all.Find(s.Impl[0])
				if !ok {
					t.Fatalf("%s: no implementation %s", target.ID, s.Impl[0])
				}
				if _, _, err := impl.New(s.Ends(0)[0], &memory.Host{}); err != nil {
					t.Errorf("%s, %s: %v", target.ID, c.Name, err)
				}
			}
		}
	}
}

// A model outside its own bound would make every run of its row fail without reason.
func TestModelsKeepTheirBounds(t *testing.T) {
	for _, target := range All() {
		for _, c := range target.Checks {
			if target.ClassOf(&c).Gates() && c.Model != 0 && !c.Bound.Holds(c.Model) {
				t.Errorf("%s, %s: the model says %.4g, the bound is %+v", target.ID, c.Name, c.Model, c.Bound)
			}
		}
	}
}

// Where a paper's number of a gating class is outside the bound, the row says which side is wrong.
func TestDisagreementsAreExplained(t *testing.T) {
	for _, target := range All() {
		for _, c := range target.Checks {
			if c.Paper != 0 && !c.Bound.Holds(c.Paper) && target.Reason == "" && math.Abs(c.Paper/c.Model-1) > 0.05 {
				t.Errorf("%s, %s: the paper's %g is outside %+v, and no reason is given", target.ID,
					c.Name, c.Paper, c.Bound)
			}
		}
	}
}

// The goodput of a steady flow does not depend on the duration of the run, and is never above the rate of the line.
func TestGoodputLeavesOutTheWayThere(t *testing.T) {
	s, err := Parse("link rate=10G delay=20ms\nload write msg=64KiB\nrun for=1s")
	if err != nil {
		t.Fatal(err)
	}
	for _, seconds := range []float64{0.01, 0.1, 1, 4} {
		arriving := max(0, seconds-0.02)
		r := Run{Spec: s, Summary: metrics.Summary{ElapsedNs: int64(seconds * 1e9),
			GoodputBps: 9e9 * arriving / seconds}}
		if got := goodput.Of([]Run{r}); math.Abs(got-9) > 1e-6 && arriving > 0 || arriving == 0 && got != 0 {
			t.Errorf("%g s: %g Gb/s", seconds, got)
		}
	}
}

func TestValidateFindsMistakes(t *testing.T) {
	good := Target{ID: "PT-XX-01", Source: "a paper", Claim: "a claim", Class: Virtual,
		Checks: []Check{{Metric: goodput, Runs: []string{"load write msg=1KiB count=1"}, Bound: atLeast(1)}}}
	if err := Validate([]Target{good}); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*Target){
		"no source":     func(t *Target) { t.Source = "" },
		"no claim":      func(t *Target) { t.Claim = "" },
		"not of the fo": func(t *Target) { t.ID = "LW-1" },
		"class":         func(t *Target) { t.Class = 'Q' },
		"no reason":     func(t *Target) { t.Class = Hardware },
		"no metric":     func(t *Target) { t.Checks[0].Metric = Metric{} },
		"in order":      func(t *Target) { t.Checks[0].Bound = Bound{2, 1} },
		"two numbers":   func(t *Target) { t.Checks[0].Bound = Bound{math.NaN(), 1} },
		"no bound":      func(t *Target) { t.Checks[0].Bound = Bound{} },
		"paper NaN":     func(t *Target) { t.Checks[0].Paper = math.NaN() },
		"2 runs":        func(t *Target) { t.Checks[0].Runs = append(t.Checks[0].Runs, t.Checks[0].Runs[0]) },
		"account":       func(t *Target) { t.Checks[0].Account = "fasr pool" },
		"nothing to":    func(t *Target) { t.Checks[0].Runs, t.Checks[0].Metric = nil, number("x", "") },
		"scenario":      func(t *Target) { t.Checks[0].Runs = []string{"load nonsense"} },
		"there twice":   func(t *Target) { t.Checks = append(t.Checks, t.Checks[0]) },
	} {
		bad := good
		bad.Checks = slices.Clone(good.Checks)
		change(&bad)
		if err := Validate([]Target{bad}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error about %q, got %v", want, err)
		}
	}
	if err := Validate([]Target{good, good}); err == nil || !strings.Contains(err.Error(), "twice") {
		t.Errorf("the same ID twice: %v", err)
	}
}

func TestFindAndClasses(t *testing.T) {
	found, err := Find(All(), []string{"PT-LW-05", "PT-DI"})
	if err != nil || len(found) != 16 || found[0].ID != "PT-LW-05" {
		t.Errorf("%d, %v", len(found), err)
	}
	if _, err := Find(All(), []string{"PT-L"}); err == nil {
		t.Error("half a family is found")
	}
	if c, err := ParseClasses("A,V"); err != nil || !slices.Equal(c, []Class{Analytic, Virtual}) {
		t.Error(c, err)
	}
	for _, bad := range []string{"", "a", "AV", "A,", "A,Q"} {
		if _, err := ParseClasses(bad); err == nil {
			t.Errorf("%q is a class", bad)
		}
	}
	two := Target{Class: Virtual, Checks: []Check{{Class: Hardware}, {}, {}}}
	if got := two.Classes(); !slices.Equal(got, []Class{Virtual, Hardware}) {
		t.Error(got)
	}
}
