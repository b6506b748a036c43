package neg

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// fuzz judges the result of an endpoint's own fuzzing: probes fuzz_packets and fuzz_violations.
var fuzz = rule.Rule{
	ID: "NEG-FUZZ-001", Level: rule.Must,
	Title: "A million random mutations cause no panic, no write outside the memory regions and no completion without data",
	Source: rule.Source{Ref: "IBTA 9.6, 10.6",
		Requirement: "Whatever arrives, only packets that pass every check change memory or complete work"},
	Needs: rule.Probes, Stimulus: "a run that mutates packets at random", BlackBox: "ENG",
	New: func(c *rule.Context) rule.Check {
		var packets, violations int64
		return rule.Check{
			Event: func(e *trace.Event) {
				switch {
				case e.Kind != trace.Probe || !c.Mine(e):
				case e.Name == "fuzz_packets":
					packets = e.Value
				case e.Name == "fuzz_violations":
					violations = e.Value
				}
			},
			End: func(vtime.Time) {
				if violations > 0 {
					c.Failf(rule.Requester, "%d violations in %d mutated packets; none expected", violations, packets)
				} else if packets >= 1_000_000 {
					c.Met()
				}
			},
		}
	},
}
