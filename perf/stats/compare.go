package stats

import (
	"fmt"
	"math"
)

// Decision is the result of a comparison.
type Decision string

// The decisions.
const (
	Improved     Decision = "improved"
	Same         Decision = "same"      // the whole interval is within the margin
	Regressed    Decision = "regressed" // the interval leaves out "no change", and reaches beyond the margin
	Inconclusive Decision = "inconclusive"
)

// Rule defines when two measurements differ.
type Rule struct {
	// Confidence of the interval. The false-alarm rate of one comparison, improved or regressed although nothing has
	// changed, is 1 - Confidence at most, whatever the distribution.
	Confidence float64
	// Margin is the smallest relative change that matters: two measurements whose interval lies wholly within it are
	// the same.
	Margin float64
	// LowerIsBetter tells which direction is an improvement.
	LowerIsBetter bool
	// Exact means that the measurement has no random part, so that one run each decides.
	Exact bool
}

// Change is the difference between the new measurement and the old.
type Change struct {
	Estimate // of new/old - 1, the median over the pairs
	Decision Decision
}

// Compare decides between two measurements of the same seeds, in the same order.
func (r Rule) Compare(old, new []float64) (Change, error) {
	if len(old) != len(new) {
		return Change{}, fmt.Errorf("stats: %d values and %d; pairs need as many of each", len(old), len(new))
	}
	for _, values := range [][]float64{old, new} {
		if err := check(values); err != nil {
			return Change{}, err
		}
	}
	changes := make([]float64, len(old))
	for i := range old {
		switch {
		case old[i] == new[i]: // also 0 and 0
		case old[i] == 0:
			return Change{}, fmt.Errorf(
				"stats: value %d was 0 and is %g; a relative change needs another beginning", i+1, new[i])
		default:
			changes[i] = (new[i] - old[i]) / math.Abs(old[i])
		}
	}
	c := Change{Estimate: r.estimate(changes)}
	c.Decision = r.decide(c.Estimate)
	return c, nil
}

// estimate is the change with its interval; an exact one has no width.
func (r Rule) estimate(changes []float64) Estimate {
	if r.Exact {
		return Estimate{changes[0], changes[0], changes[0], 1, len(changes)}
	}
	return median(changes, r.Confidence)
}

// decide interprets the interval. Identical values are the same, however few pairs there are: with the same seeds a
// single packet sent at another time would make a difference.
func (r Rule) decide(e Estimate) Decision {
	up, down := Improved, Regressed
	if r.LowerIsBetter {
		up, down = down, up
	}
	switch {
	case e.Low == 0 && e.High == 0:
		return Same
	case e.Confidence < r.Confidence:
		return Inconclusive
	case e.Low >= -r.Margin && e.High <= r.Margin:
		return Same
	case e.Low > 0:
		return up
	case e.High < 0:
		return down
	}
	return Inconclusive
}
