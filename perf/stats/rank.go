package stats

import (
	"math"
	"slices"

	"golang.org/x/perf/benchmath"
)

// SignTest returns the probability that pairs differ in one direction as often as these do, or more, if neither
// direction is preferred; two-sided and exact. Equal pairs do not count; if all are equal it is 1.
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

// RankTest returns the probability that two samples of one distribution lie apart as these do, or more: the two-sided
// test of Mann and Whitney, exact for samples of up to 25 values.
func RankTest(old, new []float64) float64 {
	return benchmath.AssumeNothing.Compare(sample(old), sample(new)).P
}

// Discoveries returns which of several tests are significant at a false discovery rate of at most rate, on average
// (Benjamini and Hochberg 1995), and the level at which each of these was tested.
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

// Spread is the typical distance of values from their median, scaled to the standard deviation of normal values: 1.4826
// times the median of the distances. Up to half of the values may be outliers.
func Spread(values []float64, median float64) float64 {
	away := make([]float64, len(values))
	for i, x := range values {
		away[i] = math.Abs(x - median)
	}
	const normal = 1.4826
	return normal * Median(away)
}
