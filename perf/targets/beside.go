package targets

import (
	"fmt"
	"math"
)

// Least is how many times the number of another implementation one has at least when both keep the bound of the check:
// the low end over the high one. A share, or a ratio to the same without loss, is 1 at most also where the bound has no
// high end.
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

// Find returns the check of a name; "" is the only one.
func (t *Target) Find(name string) (*Check, error) {
	for i := range t.Checks {
		if c := &t.Checks[i]; c.Name == name || name == "" && len(t.Checks) == 1 {
			return c, nil
		}
	}
	return nil, fmt.Errorf("target %s has no check %q", t.ID, name)
}

// Beside holds an implementation to the claim over a scenario of the same proportions, in which it is to be "impl" in
// subject and the reference in reference: it has to have what Least says of the reference's goodput, and, where the
// claim is a share of what the line carries, the low end of its bound. Without a reference only the latter is asked
// for.
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
