package metrics

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

func TestSpreadIsExactWhenSmall(t *testing.T) {
	var s sample
	for ns := int64(100); ns >= 1; ns-- { // 1 to 100, so that percentile p is p
		s.add(vtime.Duration(ns) * vtime.Nanosecond)
	}
	want := Spread{Count: 100, Mean: 51, Min: 1, P50: 50, P95: 95, P99: 99, Max: 100}
	if got := s.spread(); got != want {
		t.Errorf("spread %+v, want %+v", got, want)
	}
	if got := (&sample{}).spread(); got != (Spread{}) {
		t.Errorf("empty spread %+v", got)
	}
}

func TestSpreadOfAnyValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Int64Range(math.MinInt64, math.MaxInt64), 1, 50).Draw(t, "ps")
		var s sample
		s.condenseAfter(rapid.IntRange(0, 50).Draw(t, "histogram after"), values)
		got := s.spread()
		if got.Count != int64(len(values)) || got.Min < 0 || got.P50 < got.Min || got.P95 < got.P50 ||
			got.P99 < got.P95 || got.Max < got.P99 {
			t.Fatalf("spread %+v", got)
		}
	})
}

// condenseAfter adds values, and moves to the histogram after n of them.
func (s *sample) condenseAfter(n int, values []int64) {
	for i, v := range values {
		if i == n {
			s.condense()
		}
		s.add(vtime.Duration(v))
	}
}

// Beyond the limit for exact values the percentiles of the histogram are within 0.1 % of those of the sorted values.
func TestSpreadIsCloseWhenLarge(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var s sample
	var all []int64
	for range 3 * exactLimit {
		ns := int64(math.Exp(15 + 2*r.NormFloat64())) // log-normal around 3 ms
		all = append(all, ns)
		s.add(vtime.Duration(ns) * vtime.Nanosecond)
	}
	slices.Sort(all)
	got := s.spread()
	for _, x := range []struct {
		name    string
		got     int64
		percent int
	}{{"P50", got.P50, 50}, {"P95", got.P95, 95}, {"P99", got.P99, 99}, {"max", got.Max, 100}} {
		want := all[len(all)*x.percent/100-1]
		if math.Abs(float64(x.got-want)) > 0.001*float64(want) {
			t.Errorf("%s is %d, want %d within 0.1 %%", x.name, x.got, want)
		}
	}
	if s.values != nil || s.hist == nil {
		t.Error("values are still kept one by one")
	}
}
