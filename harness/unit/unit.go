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

// Time returns how long n bytes occupy the line, rounded to the nearest picosecond; zero on an unlimited line.
func (r Rate) Time(n int) vtime.Duration {
	if r <= 0 || n <= 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(n)*8, uint64(vtime.Second))
	if hi >= uint64(r) {
		return vtime.Duration(math.MaxInt64)
	}
	q, rem := bits.Div64(hi, lo, uint64(r))
	if rem >= uint64(r)/2 {
		q++
	}
	return vtime.Duration(min(q, math.MaxInt64))
}

// Bytes returns how many bytes the line carries in d: the bandwidth-delay product when d is the RTT.
func (r Rate) Bytes(d vtime.Duration) Size {
	return Size(float64(r) / 8 * d.Seconds())
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
	x, err := scaled(s, []suffix{{"G", 1e9}, {"M", 1e6}, {"k", 1e3}, {"", 1}})
	if err != nil || x < 0 {
		return 0, fmt.Errorf("rate %q: want bits per second such as 100M or 10G", s)
	}
	return Rate(x), nil
}

// Size is a number of bytes.
type Size int64

// The binary multiples of Size.
const (
	KiB Size = 1 << 10
	MiB      = 1 << 20
	GiB      = 1 << 30
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
	x, err := scaled(s, []suffix{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"B", 1}, {"", 1}})
	if err != nil || x < 0 {
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
	x, err := scaled(s, []suffix{{"%", 0.01}, {"", 1}})
	if err != nil {
		return 0, fmt.Errorf("ratio %q: want a number from 0 to 1, such as 1e-4, or a percentage", s)
	}
	if x < 0 || x > 1 {
		return 0, fmt.Errorf("ratio %q: outside 0 to 1 (0%% to 100%%)", s)
	}
	return Ratio(x), nil
}

type suffix struct {
	text  string
	scale float64
}

// scaled reads a finite number followed by one of the suffixes; a fraction keeps no more than its whole units later.
func scaled(s string, sufs []suffix) (float64, error) {
	for _, u := range sufs {
		num, ok := strings.CutSuffix(s, u.text)
		if !ok {
			continue
		}
		x, err := strconv.ParseFloat(num, 64)
		if err != nil {
			return 0, err
		}
		if x *= u.scale; math.IsNaN(x) || math.Abs(x) > 1<<62 {
			return 0, strconv.ErrRange
		}
		return x, nil
	}
	return 0, strconv.ErrSyntax
}
