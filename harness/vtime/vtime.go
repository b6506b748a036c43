// Package vtime is the time of a world: an integer count of picoseconds.
//
// A 1 KiB RoCEv2 packet lasts 22.12 ns on a 400 Gb/s link, so nanoseconds would lose half a percent of every
// serialisation; a float would lose determinism. An int64 of picoseconds spans 106 days. Virtual benches advance it
// themselves; real benches derive it from one monotonic clock, whose zero is the start of the run.
package vtime

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Time is a point on the clock of a world, in picoseconds since the world began.
type Time int64

// Never is later than every event: the time of something that has not happened, and the deadline of an idle timer.
const Never Time = math.MaxInt64

// Duration is a distance between two Times, in picoseconds.
type Duration int64

// The units of Duration.
const (
	Picosecond  Duration = 1
	Nanosecond           = 1000 * Picosecond
	Microsecond          = 1000 * Nanosecond
	Millisecond          = 1000 * Microsecond
	Second               = 1000 * Millisecond
)

// FromStd converts a standard duration, which counts nanoseconds. It saturates beyond 106 days in either direction.
func FromStd(d time.Duration) Duration {
	const most = time.Duration(math.MaxInt64 / int64(Nanosecond))
	switch {
	case d > most:
		return math.MaxInt64
	case d < -most:
		return math.MinInt64
	}
	return Duration(d) * Nanosecond
}

// Std converts to a standard duration, truncating to nanoseconds.
func (d Duration) Std() time.Duration { return time.Duration(d / Nanosecond) }

// Seconds returns d in seconds, for rates and reports; never feed it back into a clock.
func (d Duration) Seconds() float64 { return float64(d) / float64(Second) }

// Add returns the time d after t; Never stays Never, and a sum past the end of time is Never. A negative d reaches back
// to the smallest Time at most.
func (t Time) Add(d Duration) Time {
	sum := t + Time(d)
	switch {
	case t == Never || d > 0 && sum < t:
		return Never
	case d < 0 && sum > t:
		return math.MinInt64
	}
	return sum
}

// Sub returns the distance from u to t.
func (t Time) Sub(u Time) Duration { return Duration(t - u) }

// Micros prints t in microseconds with three decimals, the form of ladders; Never prints as "-".
func (t Time) Micros() string {
	if t == Never {
		return "-"
	}
	sign, ps := "", uint64(t)
	if t < 0 {
		sign, ps = "-", -ps
	}
	ns := (ps + 500) / 1000
	return fmt.Sprintf("%s%d.%03d", sign, ns/1000, ns%1000)
}

// String prints d in the largest unit that keeps it whole: "5us", "40ms", "22120ps". ParseDuration reads it back.
func (d Duration) String() string {
	for _, u := range units {
		if d%u.size == 0 {
			return strconv.FormatInt(int64(d/u.size), 10) + u.name
		}
	}
	return strconv.FormatInt(int64(d), 10) + "ps"
}

// Short prints d for people, rounded to three digits: "30ms" for 29.990000001 ms, "90ms", "1400ns".
func (d Duration) Short() string {
	unit, half := Duration(1), Duration(0)
	for d/unit >= 1000 || d/unit <= -1000 {
		unit, half = 10*unit, 5*unit
	}
	if d < 0 {
		half = -half
	}
	return ((d + half) / unit * unit).String()
}

// ParseDuration reads a decimal number with a unit: "40ms", "4.096us", "1s", "250ns", "22120ps". A bare "0" is zero,
// and "µs", as reports print it, is "us". Whole numbers are exact; fractions are rounded to the nearest picosecond.
func ParseDuration(s string) (Duration, error) {
	if s == "0" {
		return 0, nil
	}
	for _, u := range parseOrder {
		num, ok := strings.CutSuffix(s, u.name)
		if !ok {
			continue
		}
		d, ok := scale(num, u.size)
		if !ok {
			return 0, fmt.Errorf(
				"duration %q: want a number and a unit, such as 40ms or 4.096us, of at most 106 days", s)
		}
		return d, nil
	}
	return 0, fmt.Errorf("duration %q: no unit; want one of ps, ns, us, ms, s", s)
}

// scale reads a decimal number and multiplies it by unit; ok is false when it is no number or the product overflows.
func scale(num string, unit Duration) (d Duration, ok bool) {
	if n, err := strconv.ParseInt(num, 10, 64); err == nil {
		d = Duration(n) * unit
		return d, d/unit == Duration(n)
	}
	x, err := strconv.ParseFloat(num, 64)
	if x *= float64(unit); err != nil || math.IsNaN(x) || math.Abs(x) >= 1<<63 {
		return 0, false
	}
	return Duration(math.Round(x)), true
}

type named struct {
	name string
	size Duration
}

// units go from large to small, so that String takes the largest; a zero duration therefore prints as "0s".
var units = []named{{"s", Second}, {"ms", Millisecond}, {"us", Microsecond}, {"ns", Nanosecond}, {"ps", Picosecond}}

// parseOrder puts "s" last, because every other unit ends in it. The micro sign and the Greek letter look the same.
var parseOrder = []named{{"ps", Picosecond}, {"ns", Nanosecond}, {"us", Microsecond}, {"\u00b5s", Microsecond},
	{"\u03bcs", Microsecond},
	{"ms", Millisecond}, {"s", Second}}
