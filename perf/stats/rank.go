package stats

import (
	"math"
	"slices"

	"golang.org/x/perf/benchmath"
)

// SignTest returns how probable it is that pairs differ in one direction as often as these do, or more, where neither
// direction is preferred; two-sided and exact. Pairs that are equal do not count, and without others it is 1.
func SignTest(old, new []float64) float64 {
	up, down := 0, 0
	for i := range min(len(old), len(new)) {
		switch {
		case new[i] > old[i]:
			up++
		case new[i] < old[i]:
			down++
		}
	}
	n, few := up+down, min(up, down)
	tail, term := 0.0, math.Pow(2, -float64(n))
	for k := 0; k <= few; k++ {
		tail += term
		term *= float64(n-k) / float64(k+1)
	}
	return min(1, 2*tail)
}

// RankTest returns how probable it is that two samples of one distribution lie apart as these do, or more: the
// two-sided test of Mann and Whitney, exact for samples of up to 25 values.
func RankTest(old, new []float64) float64 {
	return benchmath.AssumeNothing.Compare(sample(old), sample(new)).P
}

// Discoveries says which of several tests stand when the share of false ones among them is to be rate at most, on
// average (Benjamini and Hochberg 1995), and the level at which each of those that stand was tested.
func Discoveries(p []float64, rate float64) (stand []bool, level float64) {
	sorted := slices.Sorted(slices.Values(p))
	for i, x := range sorted {
		if bound := rate * float64(i+1) / float64(len(p)); x <= bound {
			level = bound
		}
	}
	stand = make([]bool, len(p))
	for i, x := range p {
		stand[i] = level > 0 && x <= level
	}
	return stand, level
}

// Median is the middle of some values, or the mean of the two there; NaN without any.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(values))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// Spread is how far values usually lie from their median, scaled so that it is the standard deviation of normal ones:
// 1.4826 times the median of the distances. Half of the values may be anything without harm.
func Spread(values []float64, median float64) float64 {
	away := make([]float64, len(values))
	for i, x := range values {
		away[i] = math.Abs(x - median)
	}
	const normal = 1.4826
	return normal * Median(away)
}
