package targets

import (
	"math"
	"strings"
	"testing"
)

// The least ratio of two implementations that keep one bound follows from the bound.
func TestLeast(t *testing.T) {
	for _, c := range []struct {
		metric Metric
		bound  Bound
		want   float64 // 0 for an error
	}{
		{goodput, around(6.38, 0.05), 0.95 / 1.05},
		{share, within(0.98, 0.02), 0.96},
		{share, atLeast(0.93), 0.93},
		{share, Bound{0.9, 1.02}, 0.9},
		{goodput, atLeast(3), 0},
		{share, atMost(0.5), 0},
		{ratio, atLeast(50), 0},
	} {
		check := Check{Metric: c.metric, Bound: c.bound}
		if got, err := check.Least(); math.Abs(got-c.want) > 1e-9 || (err != nil) != (c.want == 0) {
			t.Errorf("%s %v: %g, %v; want %g", c.metric.Name, c.bound, got, err, c.want)
		}
	}
}

// A share is checked against the claim as well. Another metric without a reference gives no check.
func TestBeside(t *testing.T) {
	claim := Target{ID: "PT-XX-01"}
	for _, c := range []struct {
		metric    Metric
		reference string
		want      string
	}{
		{share, "ref", "n/share of ceiling n, beside the reference/goodput ratio"},
		{share, "", "n/share of ceiling"},
		{goodput, "ref", "n, beside the reference/goodput ratio"},
		{goodput, "", ""},
	} {
		checks, err := claim.Beside(&Check{Metric: c.metric, Bound: Bound{0.9, 1}}, "n", "sub", c.reference)
		var names []string
		for _, k := range checks {
			names = append(names, k.Name+"/"+k.Metric.Name)
			if k.Bound.Low < 0.9 || k.Runs[0] != "sub" || !k.Class.Gates() {
				t.Errorf("%+v", k)
			}
		}
		if got := strings.Join(names, " "); got != c.want || err != nil {
			t.Errorf("%s %q: %q, %v; want %q", c.metric.Name, c.reference, got, err, c.want)
		}
	}
	if _, err := claim.Beside(&Check{Metric: ratio, Bound: atLeast(50)}, "n", "a", "b"); err == nil {
		t.Error("a bound that says nothing is accepted")
	}
}
