package quantity

import (
	"math"
	"testing"
)

func TestText(t *testing.T) {
	for _, tc := range []struct{ got, want string }{
		{Rate(83.14e6), "83.1 Mb/s"},
		{Rate(768.4e6), "768 Mb/s"},
		{Rate(9.2561e9), "9.26 Gb/s"},
		{Rate(999.96e6), "1.00 Gb/s"},
		{Rate(1e9), "1 Gb/s"},
		{Rate(12), "12 b/s"},
		{Rate(0), "0 b/s"},
		{Rate(math.NaN()), "0 b/s"},
		{Bytes(52_428_800), "52.4 MB"},
		{Bytes(999), "999 B"},
		{Duration(41_200_000), "41.2 ms"},
		{Duration(14_463_122), "14.5 ms"},
		{Duration(2400), "2.40 µs"},
		{Duration(7), "7 ns"},
		{Duration(0), "0 s"},
		{Duration(1_500_000_000), "1.50 s"},
		{Duration(600_000_000_000), "600 s"},
		{Share(0.7684), "76.8 %"},
		{Share(0.000512), "0.051 %"},
		{Share(1e-5), "0.001 %"},
		{Share(0), "0 %"},
		{Share(1), "100 %"},
		{ShareOf(1, 0), "–"},
		{ShareOf(3, 4), "75 %"},
		{Count(0), "0"},
		{Count(9913), "9913"},
		{Count(61113), "61\u00a0113"},
		{Count(-1234567), "−1\u00a0234\u00a0567"},
		{Plural(1, "loss", "losses"), "1 loss"},
		{Plural(20000, "loss", "losses"), "20\u00a0000 losses"},
	} {
		if tc.got != tc.want {
			t.Errorf("got %q, want %q", tc.got, tc.want)
		}
	}
}

func TestValues(t *testing.T) {
	low, high := 6.061, 6.7
	for got, want := range map[string]string{
		Value(6.3821, "Gb/s"): "6.382 Gb/s", Value(0.98213, ""): "0.9821", Value(2991.4, ""): "2991",
		Value(123456, "B"): "123456 B", Value(0, ""): "0",
		Interval(6.382, 6.331, 6.4, "Gb/s"): "6.382 ±0.051 Gb/s", Interval(5, 5, 5, "us"): "5 us",
		Interval(0, 0, 0, ""): "0", Interval(1, 0.89999, 1, ""): "1 ±0.11",
		Bounds(&low, &high): "6.061 to 6.7", Bounds(&low, nil): "at least 6.061", Bounds(nil, &high): "at most 6.7",
		Bounds(nil, nil): "any",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
