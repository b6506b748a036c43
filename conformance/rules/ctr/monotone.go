package ctr

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
)

var neverBack = rule.Rule{
	ID: "CTR-MONO-001", Level: rule.Must, Title: "No counter decreases or is reset during a run", Device: true,
	Rests:    validity.Frames,
	Source:   rule.Source{Ref: portABI, Requirement: "Counters count up from the start of the device."},
	Stimulus: "any run", BlackBox: both,
	New: func(c *rule.Context) rule.Check {
		last := map[string]int64{}
		return rule.Check{Event: func(e *trace.Event) {
			if e.Kind != trace.Counter {
				return
			}
			before, read := last[e.Name]
			last[e.Name] = e.Value
			switch {
			case read && e.Value < before:
				c.Failf(rule.Requester, "%s decreases from %d to %d", e.Name, before, e.Value)
			case read:
				c.Met()
			}
		}}
	},
}
