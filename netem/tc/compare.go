package tc

import (
	"fmt"
	"strings"
)

// Value is one setting of netem, as requested and as the kernel reports it.
type Value struct {
	Name string `json:"name"`
	Want string `json:"want"`
	Got  string `json:"got"`
	OK   bool   `json:"ok"`
}

// Compare compares every setting. All have to be equal to the last bit: Translate has done the rounding (times to 1 ns,
// probabilities to 2^-32, rates to 1 byte/s), and the kernel keeps the values that it accepts. A seed that was not
// requested is not compared, because the kernel then reports the one that it chose.
func Compare(want, got Netem) []Value {
	if want.Seed == nil {
		got.Seed = nil
	}
	w, g := want.settings(), got.settings()
	values := make([]Value, len(w))
	for i := range w {
		values[i] = Value{Name: w[i].name, Want: w[i].value, Got: g[i].value, OK: w[i].value == g[i].value}
	}
	return values
}

// mismatch returns an error that names every difference, or nil.
func mismatch(values []Value) error {
	var bad []string
	for _, v := range values {
		if !v.OK {
			bad = append(bad, fmt.Sprintf("%s is %s, want %s", v.Name, v.Got, v.Want))
		}
	}
	if bad == nil {
		return nil
	}
	return fmt.Errorf("the kernel did not keep the settings: %s: %w", strings.Join(bad, "; "), ErrUnsupported)
}

// setting is one line of a comparison.
type setting struct{ name, value string }

// settings prints the configuration in a fixed order, probabilities in the kernel's steps so that equal means equal.
func (n Netem) settings() []setting {
	p := func(p Probability) string { return fmt.Sprintf("%d/2^32-1 (%.9g)", uint32(p), p.Ratio()) }
	model := "none"
	switch {
	case n.GE != nil:
		model = fmt.Sprintf("gemodel p=%s r=%s h=%s k1=%s", p(n.GE.P), p(n.GE.R), p(n.GE.H), p(n.GE.K1))
	case n.GI != nil:
		model = fmt.Sprintf("state p13=%s p31=%s p32=%s p14=%s p23=%s", p(n.GI.P13), p(n.GI.P31), p(n.GI.P32),
			p(n.GI.P14), p(n.GI.P23))
	case n.Loss != 0:
		model = "random p=" + p(n.Loss)
	}
	seed := "any"
	if n.Seed != nil {
		seed = fmt.Sprint(*n.Seed)
	}
	return []setting{
		{"delay", fmt.Sprintf("%d ns", n.Latency)},
		{"jitter", fmt.Sprintf("%d ns", n.Jitter)},
		{"limit", fmt.Sprintf("%d packets", n.Limit)},
		{"loss", model},
		{"reorder", fmt.Sprintf("%s gap %d", p(n.Reorder), n.Gap)},
		{"duplicate", p(n.Duplicate)},
		{"corrupt", p(n.Corrupt)},
		{"rate", fmt.Sprintf("%d bytes/s", n.Rate)},
		{"overhead", fmt.Sprintf("%d bytes", n.Overhead)},
		{"ecn", fmt.Sprint(n.ECN)},
		{"seed", seed},
	}
}
