package stats

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

func TestSignTest(t *testing.T) {
	for _, tt := range []struct {
		old, new []float64
		want     float64
	}{
		{nil, nil, 1},
		{[]float64{1, 2}, []float64{1, 2}, 1},
		{[]float64{1, 2, 3}, []float64{2, 3, 4}, 0.25},
		{[]float64{1, 2, 3, 9}, []float64{2, 3, 4, 9}, 0.25}, // equal pairs do not count
		{[]float64{1, 2, 3, 4}, []float64{2, 3, 4, 3}, 0.625},
		{make([]float64, 12), []float64{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, math.Pow(2, -11)},
	} {
		if p := SignTest(tt.old, tt.new); math.Abs(p-tt.want) > 1e-12 {
			t.Errorf("%v and %v: %v, want %v", tt.old, tt.new, p, tt.want)
		}
	}
}

// Samples of twelve that do not overlap give the least p-value for this size; equal distributions give p-values below
// 0.05 in about 5 % of trials.
func TestRankTest(t *testing.T) {
	low, high := make([]float64, 12), make([]float64, 12)
	for i := range low {
		low[i], high[i] = float64(i), float64(i+12)
	}
	if p := RankTest(low, high); math.Abs(p-2/2704156.0) > 1e-12 {
		t.Errorf("apart: %v, want 2 of the 2 704 156 orders", p)
	}
	if p := RankTest(low, low); p < 0.99 {
		t.Errorf("the same: %v", p)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	const trials = 4000
	small := 0
	for range trials {
		for i := range low {
			low[i], high[i] = rng.ExpFloat64(), rng.ExpFloat64()
		}
		if RankTest(low, high) <= 0.05 {
			small++
		}
	}
	if share := float64(small) / trials; share > 0.06 || share < 0.035 {
		t.Errorf("%.3f of equal samples are below 0.05", share)
	}
}

func TestDiscoveries(t *testing.T) {
	// the example of Benjamini and Hochberg (1995), section 3.2: four of fifteen are discoveries at 0.05
	p := []float64{
		0.0001,
		0.0004,
		0.0019,
		0.0095,
		0.0201,
		0.0278,
		0.0298,
		0.0344,
		0.0459,
		0.3240,
		0.4262,
		0.5719,
		0.6528,
		0.7590,
		1,
	}
	stand, level := Discoveries(p, 0.05)
	for i := range p {
		if stand[i] != (i < 4) {
			t.Errorf("%v stands: %v", p[i], stand[i])
		}
	}
	if math.Abs(level-0.05*4/15) > 1e-12 {
		t.Errorf("level %v", level)
	}
	if stand, level := Discoveries(nil, 0.05); len(stand) != 0 || level != 0 {
		t.Errorf("of nothing: %v, %v", stand, level)
	}
}

// A p-value at most as large as that of a discovery is a discovery. Outliers move neither median nor spread.
func TestDiscoveriesAndSpreadOfAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SliceOfN(rapid.Float64Range(0, 1), 1, 20).Draw(t, "p")
		stand, _ := Discoveries(p, 0.1)
		for i := range p {
			for k := range p {
				if stand[i] && p[k] <= p[i] && !stand[k] {
					t.Fatalf("%v stands and %v does not", p[i], p[k])
				}
			}
		}
		values := rapid.SliceOfN(rapid.Float64Range(90, 110), 5, 20).Draw(t, "values")
		values[0], values[1] = 1e9, -1e9
		if m := Median(values); m < 90 || m > 110 || Spread(values, m) > 60 {
			t.Fatalf("median %v, spread %v", m, Spread(values, m))
		}
	})
	if !math.IsNaN(Median(nil)) {
		t.Error("nothing has a median")
	}
}
