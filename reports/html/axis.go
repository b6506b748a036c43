package html

import (
	"math"
	"strconv"

	"github.com/rdma-gauntlet/gauntlet/harness/quantity"
)

// axis maps values onto pixels and gives the positions of labels. Values run from 0, where all these figures start.
type axis struct {
	max   float64 // value at the far end
	step  float64 // between labels
	unit  string
	scale float64 // labels print value/scale
	from  float64 // pixel of 0
	to    float64 // pixel of max
}

// unit is a multiple of the base unit, with its name.
type unit struct {
	name  string
	scale float64
}

var (
	rateUnits = []unit{{"Tb/s", 1e12}, {"Gb/s", 1e9}, {"Mb/s", 1e6}, {"kb/s", 1e3}, {"b/s", 1}}
	timeUnits = []unit{{"s", 1e12}, {"ms", 1e9}, {"µs", 1e6}, {"ns", 1e3}, {"ps", 1}} // of picoseconds
	plainUnit = []unit{{"", 1}}
)

// newAxis makes an axis for values up to largest with about n labels at round values. With whole, the axis ends at a
// label; otherwise at largest.
func newAxis(largest float64, n int, whole bool, units []unit, from, to float64) axis {
	if !(largest > 0) || math.IsInf(largest, 0) {
		largest = 1
	}
	u := units[len(units)-1]
	for _, candidate := range units {
		if largest >= candidate.scale {
			u = candidate
			break
		}
	}
	a := axis{max: largest, step: roundStep(largest/u.scale/float64(n)) * u.scale, unit: u.name, scale: u.scale,
		from: from, to: to}
	if whole {
		a.max = math.Ceil(largest/a.step-1e-9) * a.step
	}
	return a
}

// roundStep returns the smallest of 1, 2, 5 times a power of ten that is not below x.
func roundStep(x float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(x)))
	for _, m := range []float64{1, 2, 5} {
		if m*power >= x*(1-1e-9) {
			return m * power
		}
	}
	return 10 * power
}

// px returns the pixel of a value.
func (a *axis) px(v float64) float64 { return a.from + (a.to-a.from)*v/a.max }

// labels calls f for each labelled value with its pixel and text.
func (a *axis) labels(f func(px float64, text string)) {
	decimals := max(0, int(-math.Floor(math.Log10(a.step/a.scale)+1e-9)))
	for i := range int(a.max/a.step+1e-9) + 1 {
		v := float64(i) * a.step
		text := strconv.FormatFloat(v/a.scale, 'f', decimals, 64)
		if decimals == 0 {
			text = quantity.Count(int64(math.Round(v / a.scale)))
		}
		f(a.px(v), text)
	}
}
