// Package stats computes the confidence of a measurement, and whether two measurements differ.
//
// One measurement is a handful of runs, one per seed. Their mean comes with Student's interval: a goodput is an average
// over many cycles already. Two measurements of the same seeds have met the same losses, so they are compared seed by
// seed: the effect of the losses on both cancels in the difference. The differences are only assumed to be independent;
// their median has the interval that order statistics give, which is the sign test turned around.
package stats

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"golang.org/x/perf/benchmath"
)

// Estimate is a value and the interval that holds the true one with Confidence.
type Estimate struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	// 0 when a single run leaves nothing to estimate it from; the interval is then the value
	Confidence float64 `json:"confidence"`
	N          int     `json:"n"`
}

// ErrEmpty is returned for a sample without values.
var ErrEmpty = errors.New("stats: no values; run at least one seed")

// Mean is the mean of the values with Student's interval. Values that are not finite are an error: they come from a run
// that measured nothing, and any bound would let a NaN pass or fail by accident.
func Mean(values []float64, confidence float64) (Estimate, error) {
	if err := check(values); err != nil {
		return Estimate{}, err
	}
	if len(values) == 1 {
		return single(values[0]), nil
	}
	s := benchmath.AssumeNormal.Summary(sample(values), confidence)
	return Estimate{s.Center, s.Lo, s.Hi, confidence, len(values)}, nil
}

// median returns the median of the values with the interval of order statistics. With too few values the interval is
// their range, whose confidence is 1 - 2^(1-n).
func median(values []float64, confidence float64) Estimate {
	n := len(values)
	if n == 1 {
		return single(values[0])
	}
	most := 1 - math.Pow(2, float64(1-n))
	const slack = 1e-9 // prevents a rounding error from refusing the range itself
	s := benchmath.AssumeNothing.Summary(sample(values), min(confidence, most-slack))
	return Estimate{s.Center, s.Lo, s.Hi, min(s.Confidence, most), n}
}

// single returns the estimate from one run, which has no spread.
func single(x float64) Estimate { return Estimate{Value: x, Low: x, High: x, N: 1} }

// sample copies the values: the library sorts in place, and pairs must keep their order.
func sample(values []float64) *benchmath.Sample {
	return benchmath.NewSample(slices.Clone(values), &benchmath.DefaultThresholds)
}

// check returns an error for values that have no mean.
func check(values []float64) error {
	if len(values) == 0 {
		return ErrEmpty
	}
	for i, x := range values {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Errorf("stats: value %d is %v; the run measured nothing", i+1, x)
		}
	}
	return nil
}
