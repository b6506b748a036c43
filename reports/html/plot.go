package html

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/perf/figures"
)

// scale maps the values of a plot onto pixels, evenly or by their logarithms.
type scale struct {
	low, high float64
	from, to  float64 // pixels of low and high
	log       bool
}

func (s *scale) px(v float64) float64 {
	if s.log {
		v = math.Max(v, s.low) // values of 0 or less are drawn at the low end
		return s.from + (s.to-s.from)*math.Log(v/s.low)/math.Log(s.high/s.low)
	}
	return s.from + (s.to-s.from)*(v-s.low)/(s.high-s.low)
}

// extent collects the range of values.
type extent struct{ low, high float64 }

func newExtent() extent { return extent{math.Inf(1), math.Inf(-1)} }

func (s *extent) add(values ...float64) {
	for _, v := range values {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			s.low, s.high = min(s.low, v), max(s.high, v)
		}
	}
}

// positive adds values that a logarithm has.
func (s *extent) positive(log bool, values ...float64) {
	for _, v := range values {
		if !log || v > 0 {
			s.add(v)
		}
	}
}

// extents are the ranges of both axes over everything that a panel shows.
func extents(p *figures.Panel) (x, y extent) {
	x, y = newExtent(), newExtent()
	for _, c := range p.Curves {
		for _, o := range c.Ours {
			x.positive(p.X.Log, o.X)
			if o.Estimate != nil {
				y.positive(p.Y.Log, o.Estimate.Value)
			}
		}
		for _, xy := range slices.Concat(c.Model, c.Paper) {
			x.positive(p.X.Log, xy[0])
			y.positive(p.Y.Log, xy[1])
		}
	}
	for _, m := range p.Marks {
		if m.Level {
			y.positive(p.Y.Log, m.At)
		} else {
			x.positive(p.X.Log, m.At)
		}
	}
	return x, y
}

// newScale makes the scale of a range. An even one begins at 0; a logarithmic one keeps a margin, and, with decades,
// ends at powers of ten. A range without width or values is widened.
func newScale(s extent, log, decades bool, from, to float64) scale {
	if !(s.low <= s.high) {
		s = extent{1, 10}
	}
	switch {
	case log && decades:
		s.low, s.high = math.Pow(10, math.Floor(math.Log10(s.low)+1e-9)),
			math.Pow(10, math.Ceil(math.Log10(s.high)-1e-9))
	case log:
		s.low, s.high = s.low/1.25, s.high*1.25
	default:
		s.low = min(0, s.low)
	}
	if s.low == s.high {
		s.high = max(2*s.high, 1)
	}
	return scale{s.low, s.high, from, to, log}
}

// rounded makes the end of an even scale a round one, and returns the values for labels: round ones, or decades.
func (s *scale) rounded(n int) []float64 {
	var out []float64
	if s.log {
		for v := s.low; v <= s.high*1.001; v *= 10 {
			out = append(out, v)
		}
		return out
	}
	step := roundStep((s.high - s.low) / float64(n))
	s.low, s.high = math.Floor(s.low/step+1e-9)*step, math.Ceil(s.high/step-1e-9)*step
	for i := range int((s.high-s.low)/step+1e-9) + 1 {
		out = append(out, s.low+float64(i)*step)
	}
	return out
}

// ticks are the labelled values on the X axis: the measured ones, as far as there is room.
func (s *scale) ticks(p *figures.Panel) []float64 {
	var all []float64
	for _, c := range p.Curves {
		for _, o := range c.Ours {
			all = append(all, o.X)
		}
	}
	if len(all) == 0 {
		if s.log {
			for v := math.Pow(2, math.Ceil(math.Log2(s.low))); v <= s.high; v *= 2 {
				all = append(all, v)
			}
		} else {
			all = []float64{s.low, s.high}
		}
	}
	slices.Sort(all)
	const room = 40 // pixels of a label
	var out []float64
	for _, v := range slices.Compact(all) {
		if len(out) == 0 || s.px(v)-s.px(out[len(out)-1]) >= room {
			out = append(out, v)
		}
	}
	return out
}

// label writes a value of an axis: sizes in KiB and MiB, small numbers as powers of ten.
func label(v float64, unit string) string {
	switch {
	case unit == "B" && v >= 1<<20:
		return strconv.FormatFloat(v/(1<<20), 'g', 3, 64) + "M"
	case unit == "B" && v >= 1<<10:
		return strconv.FormatFloat(v/(1<<10), 'g', 3, 64) + "K"
	case v != 0 && math.Abs(v) < 1e-3:
		return strings.Replace(strconv.FormatFloat(v, 'e', -1, 64), "e-0", "e-", 1)
	case math.Abs(v) < 1:
		return strconv.FormatFloat(v, 'g', 3, 64) // 1/128 has more digits than room
	}
	return strings.Replace(strconv.FormatFloat(v, 'g', 6, 64), "e+0", "e", 1)
}
