package workload

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// The shares of flow sizes between the corners of Table I of the Go-Back-ONE paper are those of the table.
func TestSizesFollowTheTable(t *testing.T) {
	const count = 200_000
	for _, name := range Names() {
		c, err := ParseCDF(name)
		if err != nil {
			t.Fatal(err)
		}
		f := Sized(c, 0, 7)
		below, sum := make([]int, len(c)), 0.0
		for n := range count {
			size := f.Size(n)
			sum += float64(size)
			for i, corner := range c {
				if size <= corner.Size {
					below[i]++
				}
			}
		}
		for i, corner := range c {
			if got := float64(below[i]) / count; math.Abs(got-float64(corner.Most)) > 0.005 {
				t.Errorf("%s: %.4f of the flows are up to %s, want %v", name, got, corner.Size, corner.Most)
			}
		}
		if got := sum / count; math.Abs(got/c.Mean()-1) > 0.02 {
			t.Errorf("%s: the mean is %.0f bytes, want %.0f", name, got, c.Mean())
		}
	}
}

func TestCDFRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c CDF
		size, most := unit.Size(0), 0.0
		for range rapid.IntRange(1, 6).Draw(t, "corners") {
			size += unit.Size(rapid.IntRange(1, 1e6).Draw(t, "size"))
			most += (1 - most) * rapid.Float64Range(0, 0.9).Draw(t, "share")
			c = append(c, Corner{size, unit.Ratio(most)})
		}
		c[len(c)-1].Most = 1
		back, err := ParseCDF(c.String())
		if err != nil || !slices.Equal(back, c) {
			t.Fatalf("%s came back as %s, %v", c, back, err)
		}
		u := rapid.Float64Range(0, 0.999999).Draw(t, "u")
		if got := c.At(u); got < 1 || got > c.Largest() {
			t.Fatalf("%s at %v is %d", c, u, got)
		}
	})
}

func TestBadCDF(t *testing.T) {
	for text, want := range map[string]string{
		"web":               `unknown distribution "web"; known: fb-hadoop websearch`,
		"1KiB:50%":          "ends at 1024:0.5; the last share must be 1",
		"1KiB:0.5,1KiB:1":   "sizes must grow",
		"1KiB:0.5,2KiB:0.4": "shares must not fall",
		"0:0.5,1KiB:1":      "sizes must grow",
		"1KiB:NaN,2KiB:1":   "ratio",
		"1KiB:2":            "outside 0 to 1",
		"x:1":               "size",
		"1:0":               "the last share must be 1",
	} {
		if c, err := ParseCDF(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is %v, %v: want %q", text, c, err, want)
		}
	}
	if _, err := ParseCDF(strings.Repeat("1:0,", mostCorners) + "1:1"); err == nil || !strings.Contains(err.Error(),
		"more than 1000 corners") {
		t.Errorf("too many corners: %v", err)
	}
}

// The gaps of Poisson arrivals have the given mean and a standard deviation equal to it.
func TestPoisson(t *testing.T) {
	const count = 100_000
	f := Sized(nil, 1, 3).Poisson(vtime.Millisecond)
	sum, squares := 0.0, 0.0
	for n := range count {
		g := float64(f.Gap(n)) / float64(vtime.Millisecond)
		sum, squares = sum+g, squares+g*g
	}
	mean := sum / count
	if deviation := math.Sqrt(squares/count - mean*mean); math.Abs(mean-1) > 0.02 || math.Abs(deviation-1) > 0.03 {
		t.Errorf("gaps of %.3f ms, deviation %.3f ms; want 1 and 1", mean, deviation)
	}
	if e := Sized(nil, 1, 3).Every(5); e.Gap(0) != 0 || e.Gap(1) != 5 || !e.Open() {
		t.Error("regular arrivals are not regular")
	}
}

func TestMeanGap(t *testing.T) {
	if got := MeanGap(12_500, 0.5, unit.Gbps); got != 200*vtime.Microsecond {
		t.Errorf("half a gigabit in flows of 100 kbit: a gap of %s, want 200us", got)
	}
}
