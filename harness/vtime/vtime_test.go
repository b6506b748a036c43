package vtime

import (
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestDurationText(t *testing.T) {
	for _, tt := range []struct {
		d    Duration
		text string
	}{
		{0, "0s"}, {5 * Microsecond, "5us"}, {40 * Millisecond, "40ms"}, {22120, "22120ps"}, {-3 * Second, "-3s"},
		{4096 * Nanosecond, "4096ns"}, {9007199254740993, "9007199254740993ps"},
		{math.MaxInt64, "9223372036854775807ps"},
	} {
		if got := tt.d.String(); got != tt.text {
			t.Errorf("%d prints as %s, want %s", int64(tt.d), got, tt.text)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		d := Duration(rapid.Int64().Draw(t, "d"))
		if got, err := ParseDuration(d.String()); err != nil || got != d {
			t.Fatalf("ParseDuration(%s) = %d, %v", d, int64(got), err)
		}
	})
}

func TestShort(t *testing.T) {
	for d, want := range map[Duration]string{0: "0s", 999: "999ps", 29_990_000_001: "30ms",
		40_009_536 * Nanosecond: "40ms", 1_235: "1240ps", 899_998_000_001: "900ms",
		-89_996 * Microsecond: "-90ms", 67_108_864 * Nanosecond: "67100us", 1 << 62: ""} {
		if got := d.Short(); want != "" && got != want {
			t.Errorf("%v is %s, want %s", d, got, want)
		}
	}
}

func TestParseDuration(t *testing.T) {
	for text, want := range map[string]Duration{
		"0": 0, "4.096us": 4096 * Nanosecond, "1.5s": 1500 * Millisecond, "-2.5ns": -2500, "0.4ps": 0, "0.6ps": 1,
		"1e3ns":      Microsecond,
		"467\u00b5s": 467 * Microsecond, "1.5\u03bcs": 1500 * Nanosecond,
	} {
		if got, err := ParseDuration(text); err != nil || got != want {
			t.Errorf("ParseDuration(%q) = %v, %v, want %v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"": "no unit", "5": "no unit", "5m": "no unit", "ms": "want a number", "x5us": "want a number",
		"1 s":  "want a number",
		"NaNs": "want a number", "infs": "want a number", "9223373s": "106 days", "1e30ps": "106 days",
		"99999999999999999999ps": "106 days",
	} {
		if got, err := ParseDuration(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseDuration(%q) = %v, %v, want an error with %q", text, got, err, want)
		}
	}
}

func TestStd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64().Draw(t, "d"))
		got := FromStd(d)
		if exact := Duration(d) * 1000; exact/1000 == Duration(d) {
			if got != exact || got.Std() != d {
				t.Fatalf("FromStd(%v) = %v, back %v", d, got, got.Std())
			}
		} else if want := Duration(math.MaxInt64); d > 0 && got != want || d < 0 && got != -want-1 {
			t.Fatalf("FromStd(%v) = %d, want saturation", d, int64(got))
		}
	})
}

// TestAdd: sums are exact or saturate, they never wrap, and Never absorbs everything.
func TestAdd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at, d := Time(rapid.Int64().Draw(t, "t")), Duration(rapid.Int64().Draw(t, "d"))
		got := at.Add(d)
		switch {
		case at == Never:
			if got != Never {
				t.Fatalf("Never.Add(%v) = %d", d, got)
			}
		case d >= 0 && got < at || d < 0 && got > at:
			t.Fatalf("%d.Add(%d) wraps to %d", at, d, got)
		case got != Never && got != math.MinInt64 && got.Sub(at) != d:
			t.Fatalf("%d.Add(%d) = %d", at, d, got)
		}
	})
	if Time(5).Add(math.MaxInt64) != Never || Time(-5).Add(math.MinInt64) != math.MinInt64 {
		t.Error("sums do not saturate")
	}
}

func TestMicros(t *testing.T) {
	for _, tt := range []struct {
		t    Time
		text string
	}{
		{0, "0.000"}, {88_480, "0.088"}, {88_500, "0.089"}, {20_628_000, "20.628"}, {999_999_500, "1000.000"},
		{-1_500_000, "-1.500"}, {-200_000, "-0.200"}, {Never, "-"}, {Never - 1, "9223372036854.776"},
		{math.MinInt64, "-9223372036854.776"},
	} {
		if got := tt.t.Micros(); got != tt.text {
			t.Errorf("%d prints as %s, want %s", int64(tt.t), got, tt.text)
		}
	}
}

func TestSeconds(t *testing.T) {
	if got := (1500 * Millisecond).Seconds(); got != 1.5 {
		t.Errorf("%v", got)
	}
}
