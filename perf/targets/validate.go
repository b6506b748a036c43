package targets

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
)

// idForm matches PT, a family of two letters and a number: PT-LW-05.
var idForm = regexp.MustCompile(`^PT-[A-Z][A-Z0-9]-[0-9]{2}$`)

// Validate returns an error for everything that is invalid in a list of targets, a line for each.
func Validate(all []Target) error {
	var errs []error
	seen := map[string]bool{}
	for i := range all {
		t := &all[i]
		if seen[t.ID] {
			errs = append(errs, fmt.Errorf("%s: there twice; give each claim an ID of its own", t.ID))
		}
		seen[t.ID] = true
		if err := t.validate(); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", t.ID, err))
		}
	}
	return errors.Join(errs...)
}

func (t *Target) validate() error {
	switch {
	case !idForm.MatchString(t.ID):
		return errors.New("the ID is not of the form PT-LW-05")
	case t.Source == "":
		return errors.New("no source; name the paper and the section, figure or table")
	case t.Claim == "":
		return errors.New("no claim; say what the paper says")
	case !strings.Contains("AVEHX", string(t.Class)):
		return fmt.Errorf("class %q; want one of A V E H X", string(t.Class))
	case t.Reason == "" && (len(t.Checks) == 0 || !t.Class.Gates()):
		return errors.New("no reason; say why nothing is held against a bound")
	}
	names := map[string]bool{}
	for i := range t.Checks {
		c := &t.Checks[i]
		if names[c.Name] {
			return fmt.Errorf("check %q: there twice", c.Name)
		}
		names[c.Name] = true
		if err := c.validate(); err != nil {
			return fmt.Errorf("check %q: %w", c.Name, err)
		}
	}
	return nil
}

func (c *Check) validate() error {
	switch {
	case c.Metric.Name == "":
		return errors.New("no metric")
	case math.IsNaN(c.Paper) || math.IsNaN(c.Model):
		return fmt.Errorf("paper %g, model %g; leave out what there is not", c.Paper, c.Model)
	case !(c.Bound.Low <= c.Bound.High):
		return fmt.Errorf("bound %g to %g; want two numbers in order", c.Bound.Low, c.Bound.High)
	case c.Bound == Bound{} || math.IsInf(c.Bound.Low, -1) && math.IsInf(c.Bound.High, 1):
		return errors.New("no bound; anything would pass")
	case len(c.Runs) > 0 && c.Account != "":
		return errors.New("runs and an account; which of them is measured?")
	case len(c.Runs) != c.Metric.Runs && c.Metric.Runs > 0:
		return fmt.Errorf("%d runs; %s reads %d", len(c.Runs), c.Metric.Name, c.Metric.Runs)
	case len(c.Runs) == 0 && c.Account == "" && c.Model == 0:
		return errors.New("no run, no account and no model: nothing to hold against the bound")
	}
	for _, text := range c.Runs {
		if _, err := Parse(text); err != nil {
			return err
		}
	}
	return nil
}

// Parse reads the scenario of a run. It must not depend on files, because targets are the same wherever they run.
func Parse(text string) (*scenario.Spec, error) {
	s, err := scenario.Parse(strings.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("scenario %.60q: %w", text, err)
	}
	return s, nil
}
