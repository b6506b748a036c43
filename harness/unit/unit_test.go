package unit

import (
	"math"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// rates draws rates of all magnitudes equally often, which uniform numbers would not.
func rates() *rapid.Generator[Rate] {
	return rapid.Custom(func(t *rapid.T) Rate {
		return Rate(rapid.Int64Range(1, math.MaxInt64).Draw(t, "rate") >> rapid.IntRange(0, 62).Draw(t, "shift"))
	})
}

// capped returns x as an int64, or the largest one.
func capped(x *big.Int) int64 {
	if !x.IsInt64() {
		return math.MaxInt64
	}
	return x.Int64()
}

// TestRateTime compares with big integers: round(8·10^12·n / r).
func TestRateTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, n := rates().Draw(t, "r"), rapid.IntRange(0, 1<<40).Draw(t, "n")
		if r <= 0 {
			r = 1
		}
		num := new(big.Int).Mul(big.NewInt(int64(n)), big.NewInt(16e12))
		num.Add(num, big.NewInt(int64(r)))
		want := capped(num.Div(num, new(big.Int).Mul(big.NewInt(2), big.NewInt(int64(r)))))
		if got := int64(r.Time(n)); got != want {
			t.Fatalf("%v.Time(%d) = %d, want %d", r, n, got, want)
		}
	})
}

// TestRateBytes compares with big integers: floor(r·d / 8·10^12).
func TestRateBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, d := rates().Draw(t, "r"), rapid.Int64Min(0).Draw(t, "d")
		num := new(big.Int).Mul(big.NewInt(int64(r)), big.NewInt(d))
		want := capped(num.Div(num, big.NewInt(8e12)))
		if got := int64(r.Bytes(vtime.Duration(d))); got != want {
			t.Fatalf("%v.Bytes(%d) = %d, want %d", r, d, got, want)
		}
	})
}

func TestRateTable(t *testing.T) {
	for _, tt := range []struct {
		r    Rate
		n    int
		want vtime.Duration
	}{
		{400 * Gbps, 1106, 22120}, {10 * Gbps, 1106, 884800}, {1, 1, 8 * vtime.Second}, {3, 1, 2666666666667},
		{0, 1500, 0}, {Gbps, 0, 0}, {Gbps, -1, 0}, {-1, 5, 0}, {1, math.MaxInt, math.MaxInt64},
	} {
		if got := tt.r.Time(tt.n); got != tt.want {
			t.Errorf("%v.Time(%d) = %v, want %v", tt.r, tt.n, got, tt.want)
		}
	}
	if got := (100 * Gbps).Bytes(vtime.Millisecond); got != 12_500_000 {
		t.Errorf("100G over 1 ms = %d bytes", got)
	}
	if Rate(0).Bytes(vtime.Second) != 0 || Gbps.Bytes(-vtime.Second) != 0 {
		t.Error("an unlimited line and a negative time carry zero bytes")
	}
}

func TestTextRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rates().Draw(t, "rate")
		if got, err := ParseRate(r.String()); err != nil || got != r {
			t.Fatalf("ParseRate(%v) = %d, %v", r, got, err)
		}
		s := Size(rapid.Int64Min(0).Draw(t, "size"))
		s <<= rapid.SampledFrom([]int{0, 10, 20, 30}).Draw(t, "multiple")
		s &= math.MaxInt64
		if got, err := ParseSize(s.String()); err != nil || got != s {
			t.Fatalf("ParseSize(%v) = %d, %v", s, got, err)
		}
		p := Ratio(rapid.Float64Range(0, 1).Draw(t, "ratio"))
		if got, err := ParseRatio(p.String()); err != nil || got != p {
			t.Fatalf("ParseRatio(%v) = %v, %v", p, got, err)
		}
	})
}

func TestString(t *testing.T) {
	for _, tt := range []struct{ got, want string }{
		{(10 * Gbps).String(), "10G"}, {(2500 * Mbps).String(), "2500M"}, {(64 * Kbps).String(), "64k"},
		{Rate(1).String(), "1"},
		{Rate(0).String(), "0"}, {(64 * KiB).String(), "64KiB"}, {(3 * MiB).String(), "3MiB"}, {GiB.String(), "1GiB"},
		{Size(1500).String(), "1500"}, {Size(0).String(), "0"}, {Ratio(1e-5).String(), "1e-05"},
		{Ratio(0.25).String(), "0.25"},
	} {
		if tt.got != tt.want {
			t.Errorf("%s, want %s", tt.got, tt.want)
		}
	}
}

func TestParse(t *testing.T) {
	rate := func(s string) (float64, error) { r, err := ParseRate(s); return float64(r), err }
	size := func(s string) (float64, error) { n, err := ParseSize(s); return float64(n), err }
	ratio := func(s string) (float64, error) { p, err := ParseRatio(s); return float64(p), err }
	for _, tt := range []struct {
		parse func(string) (float64, error)
		text  string
		want  float64
		err   string
	}{
		{rate, "10G", 1e10, ""}, {rate, "2.5G", 2.5e9, ""}, {rate, "0.29G", 2.9e8, ""}, {rate, "100M", 1e8, ""},
		{rate, "9.6k", 9600, ""},
		{rate, "1e9", 1e9, ""}, {rate, "0", 0, ""},
		{rate, "-1", 0, "rate"}, {rate, "", 0, "rate"}, {rate, "G", 0, "rate"}, {rate, "10g", 0, "rate"},
		{rate, "1e40", 0, "rate"},
		{rate, "NaN", 0, "rate"}, {rate, "-0.9", 0, "rate"}, {rate, "Inf", 0, "rate"}, {rate, "9999999999G", 0, "rate"},
		{rate, "-5G", 0, "rate"},
		{size, "1500", 1500, ""}, {size, "64KiB", 65536, ""}, {size, "1.5MiB", 1572864, ""}, {size, "64kB", 64000, ""},
		{size, "9GB", 9e9, ""},
		{size, "7B", 7, ""}, {size, "-1", 0, "size"}, {size, "9GiBs", 0, "size"}, {size, "8589934592GiB", 0, "size"},
		{ratio, "0.01", 0.01, ""}, {ratio, "1e-4", 1e-4, ""}, {ratio, "1%", 0.01, ""}, {ratio, "7%", 0.07, ""},
		{ratio, "100%", 1, ""}, {ratio, "0", 0, ""},
		{ratio, "1.01", 0, "outside"}, {ratio, "101%", 0, "outside"}, {ratio, "-1%", 0, "outside"},
		{ratio, "", 0, "want a number"},
		{ratio, "NaN", 0, "want a number"}, {ratio, "5%%", 0, "want a number"},
	} {
		got, err := tt.parse(tt.text)
		if got != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%q = %v, %v, want %v, %s", tt.text, got, err, tt.want, tt.err)
		}
	}
}
