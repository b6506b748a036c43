package suite

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/perf/stats"
)

// Compare compares every measured number of now with the same number of before. Both must come from the same scenarios
// and seeds: then both have had the same losses, and a remaining difference is due to the program. Numbers that only
// one of them has are left out; those with different conditions are inconclusive, with that reason.
func Compare(before, now *Result, rule stats.Rule) (*Changes, error) {
	out := &Changes{Format: FormatVersion, Old: name(before), New: name(now), Confidence: rule.Confidence,
		Margin: rule.Margin}
	for i := range now.Claims {
		c := &now.Claims[i]
		k := slices.IndexFunc(before.Claims, func(o Claim) bool { return o.ID == c.ID })
		if k < 0 {
			continue
		}
		for n := range c.Measured {
			m := &c.Measured[n]
			if old := find(&before.Claims[k], m); old != nil && len(m.Scenarios) > 0 {
				out.Numbers = append(out.Numbers, change(c.ID, old, m, rule))
			}
		}
	}
	if len(out.Numbers) == 0 {
		return nil, fmt.Errorf("perf: %s and %s have no measured number in common", out.Old, out.New)
	}
	return out, nil
}

// name is the version and commit of a result.
func name(p *Result) string {
	return strings.TrimSpace(fmt.Sprintf("%s %.12s", p.Version, p.Commit))
}

// find returns the number of the same title; nil when there is none.
func find(c *Claim, like *Measured) *Measured {
	for i := range c.Measured {
		if m := &c.Measured[i]; m.Title() == like.Title() {
			return m
		}
	}
	return nil
}

// change compares one number.
func change(id string, old, now *Measured, rule stats.Rule) Change {
	out := Change{ID: id, Title: now.Title(), Unit: now.Unit, Random: now.Random, Decision: stats.Inconclusive}
	for _, side := range []*Measured{old, now} {
		if side.Estimate == nil {
			out.Reason = "not measured: " + side.Trouble
			return out
		}
	}
	out.Old, out.New = old.Estimate.Value, now.Estimate.Value
	switch {
	case !slices.Equal(old.Scenarios, now.Scenarios):
		out.Reason = "measured under other conditions"
		return out
	case !slices.Equal(old.Seeds, now.Seeds):
		out.Reason = fmt.Sprintf("measured with %d seeds and with %d others; pairs need the same",
			len(old.Seeds), len(now.Seeds))
		return out
	}
	rule.Exact, rule.LowerIsBetter = !now.Random, now.LowerIsBetter
	c, err := rule.Compare(old.Values, now.Values)
	if err != nil {
		out.Reason = err.Error()
		return out
	}
	out.Relative, out.Decision = &c.Estimate, c.Decision
	if c.Decision == stats.Inconclusive && c.Confidence < rule.Confidence {
		out.Reason = fmt.Sprintf("%d pairs give a confidence of %.3f at most; use more --seeds", c.N, c.Confidence)
	}
	return out
}
