package meta

import (
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
)

// demanding returns a rule that fails, or passes, on every trace and rests on the order of packets.
func demanding(fails bool) []rule.Rule {
	list := check(0, func(c *rule.Context) rule.Check {
		return rule.Check{Sight: func(*rule.Sight) {
			if c.Met(); fails {
				c.Fail(rule.Requester, "wrong")
			}
		}}
	})
	list[0].Rests = validity.Sequence
	return list
}

// settler settles as the product does, but invalidates the verdicts for which takes is true.
func settler(takes func(rests, failed validity.Property) bool) Settler {
	return func(verdicts []rule.Verdict, failed validity.Property) rule.Status {
		rule.Invalidate(verdicts, func(rests validity.Property) string {
			if failed != 0 && takes(rests, failed) {
				return "it failed"
			}
			return ""
		})
		return verdicts[0].Status
	}
}

func TestUnproven(t *testing.T) {
	over := []*Recording{recorded(t, lossy)}
	for _, c := range []struct {
		name  string
		takes func(rests, failed validity.Property) bool
		want  rule.Status
		says  string
	}{
		{"those that rest on it", validity.Property.Fails, rule.Pass, ""},
		{"none", func(validity.Property, validity.Property) bool { return false }, rule.Fail,
			"X-Y-001 rests on frames, and is "},
		{"all", func(validity.Property, validity.Property) bool { return true }, rule.Fail,
			"X-Y-001 does not rest on order, and is "},
	} {
		for _, fails := range []bool{false, true} {
			v, err := Unproven(Judged, settler(c.takes), demanding(fails), over)
			status(t, c.name, v, err, c.want, c.says)
		}
	}
}

func TestUndecided(t *testing.T) {
	over := []*Recording{recorded(t, lossy)}
	generous := func([]rule.Verdict, validity.Property) rule.Status { return rule.Pass }
	v, err := Undecided(Judged, settler(validity.Property.Fails), demanding(false), over)
	status(t, "as it is", v, err, rule.Pass, "")
	v, err = Undecided(Judged, generous, demanding(false), over)
	status(t, "generous", v, err, rule.Fail, "PASS of a trace in which nothing happens")
}
