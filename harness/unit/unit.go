// Package unit holds the quantities that a Spec is written in: rates, sizes and probabilities, each a type of its own
// with one spelling that prints and parses back.
package unit

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Rate is a line rate in bits per second, counted at layer 1 (preamble and inter-frame gap included). Zero means
// unlimited.
type Rate int64

// The usual multiples of Rate; they are decimal.
const (
	Kbps Rate = 1000
	Mbps      = 1000 * Kbps
	Gbps      = 1000 * Mbps
)

const bitsPerByte = 8

// Time returns how long n bytes occupy the line, rounded to the nearest picosecond; zero on an unlimited line.
func (r Rate) Time(n int) vtime.Duration {
	if r <= 0 || n <= 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(n), bitsPerByte*uint64(vtime.Second))
	if hi >= uint64(r) {
		return math.MaxInt64
	}
	q, rem := bits.Div64(hi, lo, uint64(r))
	if rem >= uint64(r)-rem {
		q++
	}
	return vtime.Duration(min(q, math.MaxInt64))
}

// Bytes returns how many whole bytes the line carries in d: the bandwidth-delay product when d is the RTT. It is zero
// on an unlimited line, which has none.
func (r Rate) Bytes(d vtime.Duration) Size {
	if r <= 0 || d <= 0 {
		return 0
	}
	const second = bitsPerByte * uint64(vtime.Second)
	hi, lo := bits.Mul64(uint64(r), uint64(d))
	if hi >= second {
		return math.MaxInt64
	}
	q, _ := bits.Div64(hi, lo, second)
	return Size(min(q, math.MaxInt64))
}

// Dilated is the rate on a machine on which a second of the Spec lasts k seconds, rounded to the nearest bit per
// second. Unlimited stays unlimited, and no rate becomes so.
func (r Rate) Dilated(k vtime.Dilation) Rate {
	if r <= 0 {
		return r
	}
	return max(1, (r+Rate(k.Factor()/2))/Rate(k.Factor()))
}

// String prints the rate in the largest decimal multiple that keeps it whole: "10G", "2500M"; zero prints as "0".
func (r Rate) String() string {
	switch {
	case r != 0 && r%Gbps == 0:
		return strconv.FormatInt(int64(r/Gbps), 10) + "G"
	case r != 0 && r%Mbps == 0:
		return strconv.FormatInt(int64(r/Mbps), 10) + "M"
	case r != 0 && r%Kbps == 0:
		return strconv.FormatInt(int64(r/Kbps), 10) + "k"
	}
	return strconv.FormatInt(int64(r), 10)
}

// ParseRate reads bits per second with an optional multiple k, M or G: "10G", "2.5G", "100M".
func ParseRate(s string) (Rate, error) {
	x, ok := scaled(s, []suffix{{"G", 1e9}, {"M", 1e6}, {"k", 1e3}, {"", 1}})
	if !ok {
		return 0, fmt.Errorf("rate %q: want bits per second such as 100M or 10G", s)
	}
	return Rate(x), nil
}

// Size is a number of bytes.
type Size int64

// The binary multiples of Size.
const (
	KiB Size = 1 << 10
	MiB Size = 1 << 20
	GiB Size = 1 << 30
)

// String prints the size in the largest binary multiple that keeps it whole: "64KiB", "1500".
func (s Size) String() string {
	switch {
	case s != 0 && s%GiB == 0:
		return strconv.FormatInt(int64(s/GiB), 10) + "GiB"
	case s != 0 && s%MiB == 0:
		return strconv.FormatInt(int64(s/MiB), 10) + "MiB"
	case s != 0 && s%KiB == 0:
		return strconv.FormatInt(int64(s/KiB), 10) + "KiB"
	}
	return strconv.FormatInt(int64(s), 10)
}

// ParseSize reads bytes with an optional multiple: "1500", "64KiB", "1MiB", and the decimal "64kB", "1MB".
func ParseSize(s string) (Size, error) {
	x, ok := scaled(s, []suffix{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"kB", 1e3}, {"MB", 1e6},
		{"GB", 1e9}, {"B", 1}, {"", 1}})
	if !ok {
		return 0, fmt.Errorf("size %q: want bytes such as 1500, 64KiB or 1MiB", s)
	}
	return Size(x), nil
}

// Ratio is a dimensionless share between 0 and 1: a probability, a loss rate, a utilisation.
type Ratio float64

// String prints the shortest decimal that parses back to the same value.
func (r Ratio) String() string { return strconv.FormatFloat(float64(r), 'g', -1, 64) }

// ParseRatio reads a share as "0.01", "1e-4" or "1%"; anything outside 0 to 1 is an error.
func ParseRatio(s string) (Ratio, error) {
	num, percent := strings.CutSuffix(s, "%")
	x, err := strconv.ParseFloat(num, 64)
	if err != nil || math.IsNaN(x) {
		return 0, fmt.Errorf("ratio %q: want a number from 0 to 1, such as 1e-4, or a percentage", s)
	}
	if percent {
		x /= 100
	}
	if x < 0 || x > 1 {
		return 0, fmt.Errorf("ratio %q: outside 0 to 1 (0%% to 100%%)", s)
	}
	return Ratio(x), nil
}

type suffix struct {
	text  string
	scale int64
}

// scaled reads a decimal number followed by one of the suffixes, the empty one last. Whole numbers are exact; fractions
// are rounded to the nearest whole. ok is false when there is no number, it is negative, or it does not fit.
func scaled(s string, sufs []suffix) (x int64, ok bool) {
	for _, u := range sufs {
		num, found := strings.CutSuffix(s, u.text)
		if !found {
			continue
		}
		if n, err := strconv.ParseInt(num, 10, 64); err == nil {
			x = n * u.scale
			return x, n >= 0 && x/u.scale == n
		}
		f, err := strconv.ParseFloat(num, 64)
		f = math.Round(f * float64(u.scale))
		return int64(f), err == nil && f >= 0 && f < 1<<63
	}
	return 0, false
}
