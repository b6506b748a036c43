package targets

import (
	"fmt"
	"math"
)

// Least returns the minimum ratio of the numbers of two implementations that both keep the bound of the check: its low
// end over its high end. A share, or a ratio to the same without loss, is at most 1 even if the bound has no high end.
func (c *Check) Least() (float64, error) {
	high := c.Bound.High
	if c.Metric.Unit == "" {
		high = min(high, 1)
	}
	if c.Bound.Low <= 0 || c.Bound.Low > high || math.IsInf(high, 1) {
		return 0, fmt.Errorf("check %q: a bound of %g to %g does not say how far apart two implementations may be",
			c.Title(), c.Bound.Low, c.Bound.High)
	}
	return c.Bound.Low / high, nil
}

// Find returns the check with a name; "" is the only check.
func (t *Target) Find(name string) (*Check, error) {
	for i := range t.Checks {
		if c := &t.Checks[i]; c.Name == name || name == "" && len(t.Checks) == 1 {
			return c, nil
		}
	}
	return nil, fmt.Errorf("target %s has no check %q", t.ID, name)
}

// Beside returns checks that hold an implementation to the claim, over a scenario of the same proportions with it as
// "impl" in subject and the reference in reference: it must reach Least times the reference's goodput, and, where the
// claim is a share of the line's capacity, the low end of its bound. Without a reference only the latter is checked.
func (t *Target) Beside(c *Check, name, subject, reference string) ([]Check, error) {
	least, err := c.Least()
	if err != nil {
		return nil, fmt.Errorf("target %s: %w", t.ID, err)
	}
	var out []Check
	if c.Metric.Name == share.Name {
		out = append(out, Check{Name: name, Class: Emulated, Metric: share, Runs: []string{subject}, Model: c.Model,
			Bound: atLeast(c.Bound.Low)})
	}
	if reference != "" {
		out = append(out, Check{Name: name + ", beside the reference", Class: Emulated, Metric: ratio,
			Runs: []string{subject, reference}, Bound: atLeast(least)})
	}
	return out, nil
}
