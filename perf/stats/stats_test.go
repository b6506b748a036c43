package stats

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestMean(t *testing.T) {
	e, err := Mean([]float64{4, 2, 3, 1, 5}, 0.95)
	// t(4) = 2.776
	if err != nil || e.Value != 3 || e.N != 5 || math.Abs(e.High-3-1.9632) > 1e-3 || math.Abs(3-e.Low-1.9632) > 1e-3 {
		t.Errorf("%+v, %v", e, err)
	}
	if e, err = Mean([]float64{7}, 0.95); err != nil || e != (Estimate{7, 7, 7, 0, 1}) {
		t.Errorf("%+v, %v", e, err)
	}
	if e, err = Mean([]float64{7, 7}, 0.95); err != nil || e.Low != 7 || e.High != 7 {
		t.Errorf("%+v, %v", e, err)
	}
}

func TestBadSamples(t *testing.T) {
	if _, err := Mean(nil, 0.95); !errors.Is(err, ErrEmpty) {
		t.Error(err)
	}
	for _, bad := range [][]float64{{1, math.NaN()}, {math.Inf(1)}} {
		if _, err := Mean(bad, 0.95); err == nil {
			t.Errorf("%v has a mean", bad)
		}
		if _, err := (Rule{}).Compare(bad, bad); err == nil {
			t.Errorf("%v is compared", bad)
		}
	}
	for _, pair := range [][2][]float64{{{1}, {1, 2}}, {{}, {}}, {{0, 1}, {1, 1}}} {
		if c, err := (Rule{}).Compare(pair[0], pair[1]); err == nil {
			t.Errorf("%v: %+v", pair, c)
		}
	}
}

// The interval of a mean contains the true mean at its confidence, and that of a median for any distribution.
func TestCoverage(t *testing.T) {
	const trials, n, confidence = 4000, 8, 0.95
	rng := rand.New(rand.NewPCG(5, 6))
	for name, dist := range map[string]struct {
		draw         func() float64
		mean, median float64
	}{
		"normal":      {rng.NormFloat64, 0, 0},
		"uniform":     {rng.Float64, 0.5, 0.5},
		"exponential": {rng.ExpFloat64, math.NaN(), math.Ln2}, // too skewed for Student's t at n = 8
	} {
		means, medians, promised := 0, 0, 0.0
		for range trials {
			values := make([]float64, n)
			for i := range values {
				values[i] = dist.draw()
			}
			m, _ := Mean(values, confidence)
			o := median(values, confidence)
			promised = o.Confidence
			if m.Low <= dist.mean && dist.mean <= m.High {
				means++
			}
			if o.Low <= dist.median && dist.median <= o.High {
				medians++
			}
		}
		if got := float64(means) / trials; !math.IsNaN(dist.mean) && math.Abs(got-confidence) > 0.015 {
			t.Errorf("%s: the mean was inside %.3f of the time, want %.3f", name, got, confidence)
		}
		if got := float64(medians) / trials; promised < confidence || math.Abs(got-promised) > 0.015 {
			t.Errorf("%s: the median was inside %.3f of the time, it said %.3f", name, got, promised)
		}
	}
}

// With too few values the interval is the range, with the confidence of that.
func TestFewValues(t *testing.T) {
	for n, want := range map[int]float64{2: 0.5, 3: 0.75, 5: 0.9375} {
		values := []float64{5, 1, 4, 2, 3}[:n]
		e := median(values, 0.99)
		if e.Low != slices.Min(values) || e.High != slices.Max(values) || math.Abs(e.Confidence-want) > 1e-6 {
			t.Errorf("%d values: %+v, want the range with %v", n, e, want)
		}
	}
}

func TestDecisions(t *testing.T) {
	old := []float64{100, 110, 90, 105, 95, 101, 99, 98}
	scaled := func(by ...float64) []float64 {
		out := slices.Clone(old)
		for i := range out {
			out[i] *= by[i%len(by)]
		}
		return out
	}
	rule := Rule{Confidence: 0.99, Margin: 0.01}
	for _, tt := range []struct {
		name string
		rule Rule
		old  []float64
		new  []float64
		want Decision
	}{
		{"identical", rule, old, old, Same},
		{"identical, two pairs", rule, old[:2], old[:2], Same},
		{"within the margin", rule, old, scaled(1.005), Same},
		{"around it", rule, old, scaled(0.97, 1.03), Inconclusive},
		{"higher", rule, old, scaled(1.02, 1.03), Improved},
		{"lower", rule, old, scaled(0.97), Regressed},
		{"lower, and lower is better", Rule{Confidence: 0.99, Margin: 0.01, LowerIsBetter: true}, old,
			scaled(0.97), Improved},
		{"too few pairs", rule, old[:5], scaled(0.97)[:5], Inconclusive},
		{"exact", Rule{Confidence: 0.99, Margin: 0.01, Exact: true}, old[:1], scaled(0.97)[:1], Regressed},
		{"below zero", rule, scaled(-1), scaled(-0.9), Improved},
		{"nothing and nothing", rule, []float64{0}, []float64{0}, Same},
	} {
		c, err := tt.rule.Compare(tt.old, tt.new)
		if err != nil || c.Decision != tt.want {
			t.Errorf("%s: %+v, %v, want %s", tt.name, c, err, tt.want)
		}
	}
}

// Values that differ by chance alone are taken for a change at the rate of the rule, here 2·2^-8 for eight pairs.
func TestFalseAlarms(t *testing.T) {
	const trials, n = 20000, 8
	rng := rand.New(rand.NewPCG(7, 8))
	rule := Rule{Confidence: 0.99}
	alarms := 0
	for range trials {
		old, new := make([]float64, n), make([]float64, n)
		for i := range old {
			old[i], new[i] = 100+rng.ExpFloat64(), 100+rng.ExpFloat64()
		}
		if c, err := rule.Compare(old, new); err != nil {
			t.Fatal(err)
		} else if c.Decision == Improved || c.Decision == Regressed {
			alarms++
		}
	}
	if rate := float64(alarms) / trials; rate > 0.01 || rate < 0.005 {
		t.Errorf("%.4f of unchanged pairs raised an alarm, want 0.0078", rate)
	}
}

// A comparison in reverse has the opposite outcome.
func TestOrderMatters(t *testing.T) {
	opposite := map[Decision]Decision{Improved: Regressed, Regressed: Improved, Same: Same, Inconclusive: Inconclusive}
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.Float64Range(1, 1e9)
		old := rapid.SliceOfN(value, 8, 8).Draw(t, "old")
		new := rapid.SliceOfN(value, 8, 8).Draw(t, "new")
		rule := Rule{Confidence: 0.99}
		forth, err := rule.Compare(old, new)
		back, err2 := rule.Compare(new, old)
		if err != nil || err2 != nil || back.Decision != opposite[forth.Decision] {
			t.Errorf("%+v, %+v, %v, %v", forth, back, err, err2)
		}
	})
}
