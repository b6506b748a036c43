package vtime

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// A time of the Spec survives conversion to the machine's time and back; a time of the machine loses less than a
// picosecond of the Spec's time.
func TestDilationMapsBothWays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := Dilation(1) << rapid.IntRange(0, 10).Draw(t, "doublings")
		d := Duration(rapid.Int64Range(math.MinInt64>>10, math.MaxInt64>>10).Draw(t, "d"))
		if back := k.Spec(k.Machine(d)); back != d {
			t.Fatalf("K %s: %d ps came back as %d", k, d, back)
		}
		if lost := d - k.Machine(k.Spec(d)); lost < 0 || lost >= Duration(k) {
			t.Fatalf("K %s: %d ps of the machine lost %d", k, d, lost)
		}
	})
}

func TestDilationKeepsItsBounds(t *testing.T) {
	if got := MaxDilation.Machine(Duration(Never)); got != Duration(Never) {
		t.Errorf("a wait without end became %s", got)
	}
	if got := MaxDilation.Machine(math.MinInt64); got != math.MinInt64 {
		t.Errorf("the earliest time became %d", got)
	}
	if k := MaxDilation.Doubled(); k != MaxDilation {
		t.Errorf("twice the largest factor is %s", k)
	}
	if k := Dilation(0); k.Factor() != 1 || k.Doubled() != 2 || k.Dilated() || k.Spec(Second) != Second {
		t.Error("the zero value is not a factor of 1")
	}
}

func TestParseDilation(t *testing.T) {
	for _, s := range []string{"1", "2", "64", "1024"} {
		if k, err := ParseDilation(s); err != nil || k.String() != s {
			t.Errorf("%q: %s, %v", s, k, err)
		}
	}
	for _, s := range []string{"", "0", "-2", "3", "1.5", "2048", "9223372036854775808", "auto"} {
		if k, err := ParseDilation(s); err == nil {
			t.Errorf("%q was read as %s", s, k)
		}
	}
}
