// Package quantity writes numbers for people: three significant digits and a unit that fits.
package quantity

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Rate writes bits per second: "83.1 Mb/s".
func Rate(bps float64) string { return scaled(bps, "b/s", decimal) }

// Bytes writes a number of bytes with decimal multiples: "52.4 MB".
func Bytes(n int64) string { return scaled(float64(n), "B", decimal) }

// Duration writes nanoseconds: "41.2 ms".
func Duration(ns int64) string {
	if ns >= 60e9 || ns <= -60e9 {
		return digits(float64(ns)/1e9, 0) + " s"
	}
	return scaled(float64(ns), "s", second)
}

// Share writes a fraction as a percentage: "76.8 %", and tells a little from nothing: "0.05 %", "0 %".
func Share(x float64) string { return short(x*100) + " %" }

// ShareOf writes n as a percentage of total; "–" when there is no total.
func ShareOf(n, total int64) string {
	if total == 0 {
		return "–"
	}
	return Share(float64(n) / float64(total))
}

// Count writes a number in groups of three digits: "61 113", with spaces that do not break.
func Count(n int64) string {
	s := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, s = "−", s[1:]
	}
	var b strings.Builder
	for i := range len(s) {
		if i > 0 && (len(s)-i)%3 == 0 && len(s) > 4 {
			b.WriteString("\u00a0")
		}
		b.WriteByte(s[i])
	}
	return sign + b.String()
}

// Value writes a number with four significant digits, as papers do at most, all of a larger one, and its unit if it has
// one: "6.382 Gb/s", "11.55".
func Value(x float64, unit string) string {
	text := strconv.FormatFloat(x, 'g', 4, 64)
	if math.Abs(x) >= 9999.5 {
		text = digits(x, 0)
	}
	return strings.TrimSpace(text + " " + unit)
}

// Interval writes an estimate and how far its interval reaches to the farther side: "6.382 ±0.051 Gb/s".
func Interval(x, low, high float64, unit string) string {
	half := max(x-low, high-x)
	if half <= math.Abs(x)*1e-9 {
		return Value(x, unit)
	}
	return Value(x, "") + " ±" + Value(roundUp(half), unit)
}

// Percent writes a share and its interval in percent: "-1.5 ±0.21 %".
func Percent(x, low, high float64) string { return Interval(100*x, 100*low, 100*high, "%") }

// roundUp keeps two significant digits and never understates an uncertainty.
func roundUp(x float64) float64 {
	scale := math.Pow(10, math.Floor(math.Log10(x))-1)
	return math.Ceil(x/scale-1e-9) * scale
}

// Bounds writes a range of which either end may be open: "at least 8", "6.061 to 6.7".
func Bounds(low, high *float64) string {
	switch {
	case low == nil && high == nil:
		return "any"
	case high == nil:
		return "at least " + Value(*low, "")
	case low == nil:
		return "at most " + Value(*high, "")
	}
	return Value(*low, "") + " to " + Value(*high, "")
}

// Plural writes a count with its noun: "1 loss", "3 losses".
func Plural(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Count(n) + " " + many
}

// Runs says how many runs there were, and where: "24 runs in virtual time, 6 on netns".
func Runs(virtual, real int, bench string) string {
	text := Plural(int64(virtual), "run", "runs") + " in virtual time"
	if bench != "" {
		text += fmt.Sprintf(", %s on %s", Count(int64(real)), bench)
	}
	return text
}

type prefix struct {
	name  string
	scale float64
}

var (
	decimal = []prefix{{"T", 1e12}, {"G", 1e9}, {"M", 1e6}, {"k", 1e3}, {"", 1}}
	second  = []prefix{{"", 1e9}, {"m", 1e6}, {"µ", 1e3}, {"n", 1}} // of nanoseconds
)

// scaled picks the largest prefix that leaves at least one whole unit after rounding.
func scaled(x float64, unit string, prefixes []prefix) string {
	if x == 0 || math.IsNaN(x) || math.IsInf(x, 0) {
		return "0 " + unit
	}
	p := prefixes[len(prefixes)-1]
	for _, q := range prefixes {
		if math.Abs(x) >= q.scale*0.9995 {
			p = q
			break
		}
	}
	return short(x/p.scale) + " " + p.name + unit
}

// short writes three significant digits without an exponent and without trailing zeros after a whole number.
func short(x float64) string {
	switch a := math.Abs(x); {
	case math.IsNaN(x) || math.IsInf(x, 0):
		return "0"
	case a >= 99.95 || a == math.Trunc(a):
		return digits(x, 0)
	case a >= 9.995:
		return digits(x, 1)
	case a >= 0.9995:
		return digits(x, 2)
	}
	return strconv.FormatFloat(x, 'g', 2, 64)
}

func digits(x float64, n int) string { return fmt.Sprintf("%.*f", n, x) }
