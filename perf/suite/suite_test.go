package suite

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/perf/batch"
	"github.com/rdma-gauntlet/gauntlet/perf/metrics"
	"github.com/rdma-gauntlet/gauntlet/perf/targets"
)

const (
	clean = "link rate=10G delay=1ms\nload write msg=1KiB count=1"
	lossy = "link rate=10G delay=1ms\nloss random p=1%\nload write msg=1KiB count=1"
)

var rate = targets.Metric{Name: "goodput", Unit: "b/s", Runs: 1, Of: func(r []targets.Run) float64 {
	return r[0].GoodputBps
}}

var ratio = targets.Metric{Name: "ratio", Runs: 2, Of: func(r []targets.Run) float64 {
	return r[0].GoodputBps / r[1].GoodputBps
}}

// one returns a list of one claim with one check.
func one(class targets.Class, c targets.Check) []targets.Target {
	return []targets.Target{{ID: "PT-XX-01", Source: "a paper", Claim: "a claim", Class: class, Reason: "a reason",
		Checks: []targets.Check{c}}}
}

// options returns options with fake runs: their goodput is 10 000 without loss, and 90 plus the seed with it.
func options(list []targets.Target) Options {
	return Options{Targets: list, Seeds: 4, Jobs: 3, Confidence: 0.95, Accounts: map[string]float64{"size": 12},
		Cost: func(*scenario.Spec) float64 { return 1 },
		Run: func(_ context.Context, s *scenario.Spec) (targets.Run, error) {
			r := targets.Run{Spec: s, Summary: metrics.Summary{GoodputBps: 10_000}}
			if targets.Random(s) {
				r.GoodputBps = 90 + float64(s.Seed)
			}
			return r, nil
		}}
}

func measure(t *testing.T, o Options) *Result {
	t.Helper()
	m, err := Measure(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := json.Marshal(m); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestVerdicts(t *testing.T) {
	bound := func(low, high float64) targets.Bound { return targets.Bound{Low: low, High: high} }
	for _, tt := range []struct {
		name            string
		class           targets.Class
		check           targets.Check
		status, finding string
	}{
		{"exact", targets.Virtual, targets.Check{Metric: rate, Runs: []string{clean}, Bound: bound(10_000, 10_000),
			Paper: 10_000}, Holds, Reproduced},
		{"mean 92.5", targets.Virtual,
			targets.Check{Metric: rate, Runs: []string{lossy}, Bound: bound(92, 93)}, Holds, ""},
		{"reaches in", targets.Virtual,
			targets.Check{Metric: rate, Runs: []string{lossy}, Bound: bound(93, 100)}, Open, ""},
		{"outside", targets.Virtual, targets.Check{Metric: rate, Runs: []string{lossy}, Bound: bound(97, 100),
			Paper: 97}, Broken, Reproduced},
		{"not gated", targets.Hardware, targets.Check{Metric: rate, Runs: []string{lossy}, Bound: bound(97, 100),
			Paper: 200}, Reported, NotReproduced},
		{"both are high", targets.Virtual, targets.Check{Metric: rate, Runs: []string{clean},
			Bound: bound(35, math.Inf(1)), Paper: 35}, Holds, Reproduced},
		{"of the model", targets.Analytic, targets.Check{Metric: targets.Metric{Name: "x"}, Model: 5,
			Bound: bound(4, 6), Paper: 9}, Holds, NotReproduced},
		{"account", targets.Analytic, targets.Check{Metric: targets.Metric{Name: "x"}, Account: "size",
			Bound: bound(4, 6)}, Broken, ""},
		{"no account", targets.Analytic, targets.Check{Metric: targets.Metric{Name: "x"}, Account: "weight",
			Bound: bound(4, 6)}, Unknown, ""},
	} {
		m := measure(t, options(one(tt.class, tt.check)))
		if got := m.Claims[0]; got.Status != tt.status || got.Finding != tt.finding || m.Status != tt.status {
			t.Errorf("%s: %s, %q, all %s; want %s, %q", tt.name, got.Status, got.Finding, m.Status,
				tt.status, tt.finding)
		}
	}
}

// A run is made once, however many claims use it; a run without chance is used for every seed of the others.
func TestRunsAreShared(t *testing.T) {
	any := targets.Bound{Low: 0, High: 1e9}
	list := []targets.Target{
		{ID: "PT-XX-01", Source: "a", Claim: "a", Class: targets.Virtual,
			Checks: []targets.Check{{Metric: ratio, Runs: []string{lossy, clean}, Bound: any}}},
		{ID: "PT-XX-02", Source: "a", Claim: "a", Class: targets.Virtual,
			Checks: []targets.Check{{Metric: rate, Runs: []string{lossy}, Bound: any}, {Name: "b", Metric: rate,
				Runs: []string{clean}, Bound: any}}},
	}
	o := options(list)
	var runs atomic.Int32
	inner, last := o.Run, 0.0
	o.Run = func(ctx context.Context, s *scenario.Spec) (targets.Run, error) {
		runs.Add(1)
		return inner(ctx, s)
	}
	o.Progress = func(share float64, _ string) {
		if share <= last {
			t.Errorf("progress went from %v to %v", last, share)
		}
		last = share
	}
	m := measure(t, o)
	specs, err := o.Specs()
	if runs.Load() != 5 || m.Runs != 5 || len(specs) != 5 || err != nil || last != 1 {
		t.Errorf("%d runs, %d said, %d listed, %v, progress to %v", runs.Load(), m.Runs, len(specs), err, last)
	}
	got := m.Claims[0].Measured[0]
	if len(got.Values) != 4 || got.Values[2] != 93.0/10_000 || !got.Random || got.Seeds[3] != 4 {
		t.Errorf("%+v", got)
	}
	if exact := m.Claims[1].Measured[1]; exact.Random || len(exact.Values) != 1 {
		t.Errorf("%+v", exact)
	}
}

// A failed run, or a value that is NaN, makes its own number unknown and no other.
func TestTrouble(t *testing.T) {
	wide := targets.Bound{Low: -1e9, High: 1e9}
	for want, o := range map[string]Options{
		"is NaN": options(one(targets.Virtual, targets.Check{Metric: targets.Metric{Name: "x", Runs: 1,
			Of: func([]targets.Run) float64 { return math.NaN() }},
			Runs: []string{clean}, Bound: wide})),
		"out of memory": func() Options {
			o := options(one(targets.Virtual, targets.Check{Metric: rate, Runs: []string{clean}, Bound: wide}))
			o.Run = func(context.Context, *scenario.Spec) (targets.Run, error) {
				return targets.Run{}, errors.New("out of memory")
			}
			return o
		}(),
	} {
		m := measure(t, o)
		if got := m.Claims[0].Measured[0]; got.Status != Unknown || !strings.Contains(got.Trouble, want) {
			t.Errorf("%+v, want trouble with %q", got, want)
		}
	}
	o := options(one(targets.Virtual, targets.Check{Metric: rate, Runs: []string{lossy},
		Bound: targets.Bound{Low: 200, High: 300}}))
	o.Seeds = 1
	if m := measure(t, o); m.Status != Open {
		t.Errorf("%s from one seed outside the bound", m.Status)
	}
	for _, seeds := range []int{0, -1, batch.MostSeeds + 1} {
		o.Seeds = seeds
		if _, err := Measure(t.Context(), o); err == nil {
			t.Errorf("%d seeds are accepted", seeds)
		}
	}
	o.Targets[0].Source = ""
	o.Seeds = 1
	if _, err := Measure(t.Context(), o); err == nil || !strings.Contains(err.Error(), "PT-XX-01: no source") {
		t.Error(err)
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m, err := Measure(ctx, options(one(targets.Virtual, targets.Check{Metric: rate, Runs: []string{clean},
		Bound: targets.Bound{High: 1}})))
	if err != nil || m.Status != Unknown || !strings.Contains(m.Claims[0].Measured[0].Trouble, "canceled") {
		t.Errorf("%+v, %v", m, err)
	}
}

func TestSelect(t *testing.T) {
	all := targets.All()
	gating := Select(all, []targets.Class{targets.Analytic, targets.Virtual})
	rest := Select(all, []targets.Class{targets.Undefined})
	if len(gating) < 30 || len(gating) >= len(all) || len(rest) != 3 {
		t.Errorf("%d gate, %d are undefined, of %d", len(gating), len(rest), len(all))
	}
	for _, target := range Select(all, []targets.Class{targets.Emulated}) {
		for _, c := range target.Checks {
			if target.ClassOf(&c) != targets.Emulated {
				t.Errorf("%s, %s is of class %c", target.ID, c.Name, target.ClassOf(&c))
			}
		}
	}
}

// Only numbers of the given classes are measured with real packets too. The gap is taken seed by seed, both values have
// to keep the bound, and an INVALID run leaves no number.
func TestRealPackets(t *testing.T) {
	check := func(name string, class targets.Class, low float64) targets.Check {
		return targets.Check{Name: name, Class: class, Metric: rate, Runs: []string{lossy},
			Bound: targets.Bound{Low: low, High: 200}}
	}
	for _, tt := range []struct {
		name   string
		low    float64 // lower end of the bound
		real   float64 // goodput, as a multiple of the virtual one
		err    error
		status string
	}{
		{"alike", 90, 1, nil, Holds},
		{"slower and within", 80, 0.9, nil, Holds},
		{"slower and outside", 90, 0.9, nil, Broken},
		{"virtual time outside", 97, 1.1, nil, Broken},
		{"no valid link", 90, 1, errors.New("INVALID: late"), Unknown},
	} {
		o := options([]targets.Target{{ID: "PT-XX-01", Source: "a", Claim: "a", Class: targets.Virtual,
			Checks: []targets.Check{check("e", targets.Emulated, tt.low)}},
			{ID: "PT-XX-02", Source: "a", Claim: "a", Class: targets.Virtual,
				Checks: []targets.Check{check("v", 0, 80)}}})
		made, inner := 0, o.Run
		o.Real = &Real{Bench: "netns", Classes: []targets.Class{targets.Emulated}, Cost: o.Cost,
			Run: func(ctx context.Context, s *scenario.Spec) (targets.Run, error) {
				made++
				r, _ := inner(ctx, s)
				r.GoodputBps *= tt.real
				return r, tt.err
			}}
		m := measure(t, o)
		got, other := m.Claims[0].Measured[0], m.Claims[1].Measured[0]
		if got.Status != tt.status || made != 4 || m.RealRuns != 4 || m.Emulated != "netns" || other.Status != Holds ||
			other.Real != nil {
			t.Errorf("%s: %+v, %d runs, beside %+v; want %s", tt.name, got, made, other, tt.status)
		}
		if tt.err == nil && (math.Abs(got.Gap.Value-(tt.real-1)) > 1e-9 || got.Gap.High-got.Gap.Low > 1e-9 ||
			len(got.RealValues) != 4) {
			t.Errorf("%s: the gap is %+v, want %.1f", tt.name, got.Gap, tt.real-1)
		}
		if !got.Emulated() || other.Emulated() {
			t.Errorf("%s: beside virtual time %v, the other %v", tt.name, got.Emulated(), other.Emulated())
		}
		if tt.err != nil && (!strings.Contains(got.Trouble, "netns: gbn, seed 1: INVALID: late") || got.Gap != nil ||
			got.RealTrouble != "gbn, seed 1: INVALID: late") {
			t.Errorf("%s: %q, %q, gap %+v", tt.name, got.Trouble, got.RealTrouble, got.Gap)
		}
	}
}

// A budget takes the cheapest numbers first. A number whose runs are already paid for costs nothing more.
func TestRealBudget(t *testing.T) {
	check := func(name string, runs ...string) targets.Check {
		return targets.Check{Name: name, Metric: rate, Runs: runs, Bound: targets.Bound{Low: 0, High: 200}}
	}
	for budget, want := range map[float64]string{0: "dear again cheap ", 1: "cheap ", 4: "cheap ",
		5: "dear again cheap "} {
		o := options([]targets.Target{{ID: "PT-XX-01", Source: "a", Claim: "a", Class: targets.Virtual,
			Checks: []targets.Check{check("dear", lossy), check("again", lossy), check("cheap", clean)}}})
		cost := func(s *scenario.Spec) float64 { return 1 } // per seed: lossy has four, clean one
		o.Real = &Real{Bench: "netns", Classes: []targets.Class{targets.Virtual}, Budget: budget,
			Cost: cost, Run: o.Run}
		m, got := measure(t, o), ""
		for _, x := range m.Claims[0].Measured {
			if x.Real != nil {
				got += x.Name + " "
			}
		}
		if got != want || m.LeftOut != 3-strings.Count(got, " ") {
			t.Errorf("budget %v: %q, %d left out; want %q", budget, got, m.LeftOut, want)
		}
	}
}

// A timed run with real packets is cut to the length that the bench is given, and is compared with a run in virtual
// time that is cut alike. Only whole runs have to keep the bound.
func TestRealCut(t *testing.T) {
	timed := func(length string) string {
		return strings.Replace(lossy, " count=1", "", 1) + "\nrun for=" + length
	}
	check := func(name, run string) targets.Check {
		return targets.Check{Name: name, Metric: rate, Runs: []string{run}, Bound: targets.Bound{Low: 7.5, High: 9.5}}
	}
	o := options([]targets.Target{{ID: "PT-XX-01", Source: "a", Claim: "a", Class: targets.Virtual,
		Checks: []targets.Check{check("long", timed("8s")), check("short", timed("1s")), check("counted", lossy)}}})
	o.Run = func(_ context.Context, s *scenario.Spec) (targets.Run, error) { // a goodput of 8 for 8 s, of 1 for 1 s
		return targets.Run{Spec: s, Summary: metrics.Summary{GoodputBps: s.For.Seconds()}}, nil
	}
	o.Seeds = 1
	var lengths []float64
	o.Real = &Real{Bench: "netns", Classes: []targets.Class{targets.Virtual}, Longest: 2 * vtime.Second,
		Cost: o.Cost, Run: func(_ context.Context, s *scenario.Spec) (targets.Run, error) {
			lengths = append(lengths, s.For.Seconds())
			return targets.Run{Spec: s, Summary: metrics.Summary{GoodputBps: 1.1 * s.For.Seconds()},
				Made: targets.Made{Dilation: 64, Wall: 100, Rate: 9000}}, nil
		}}
	m := measure(t, o)
	long, short := m.Claims[0].Measured[0], m.Claims[0].Measured[1]
	if !slices.Equal(lengths, []float64{2, 1, 0}) || m.Runs != 4 {
		t.Errorf("runs of %v s with real packets, %d in virtual time", lengths, m.Runs)
	}
	what, beside := long.Beside()
	if long.Estimate.Value != 8 || beside.Value != 2 || long.Real.Value != 2.2 || math.Abs(long.Gap.Value-0.1) > 1e-9 ||
		long.Status != Holds || !strings.HasSuffix(what, ", in the first 2s") {
		t.Errorf("%s: %+v beside %+v, gap %+v", what, long, beside, long.Gap)
	}
	if what, beside := short.Beside(); short.Cut != nil || beside.Value != 1 || what != short.Title() ||
		short.Status == Holds {
		t.Errorf("%s: %+v", what, short)
	}
	if by := long.Carried(); by != (targets.Made{Dilation: 64, Wall: 100, Rate: 9000}) {
		t.Errorf("made as %+v", by)
	}
}
