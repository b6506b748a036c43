package modeltest

import "github.com/rdma-gauntlet/gauntlet/reports/model"

// Gate returns a new gate that failed: a stage in virtual time with numbers, one in real time with a failure that was
// repeated, one that was left out, and a change of each kind.
func Gate() *model.Gate {
	q := Qualification()
	g := &model.Gate{Format: 1, Version: "0.1.0", Commit: "0123456789abcdef", Built: "2026-02-28T12:00:00Z",
		Started: "2026-03-01T12:00:00Z", Wall: 80,
		Command: "gauntlet gate mine.gate", Folder: "runs/gate", File: "mine.gate", Subject: q.Subject, Peer: q.Peer,
		Waivers: q.Waivers,
		Baseline: &model.GateBaseline{File: "main/gate.json", Version: "0.0.9", Commit: "fedcba",
			Started: "2026-02-01T12:00:00Z"},
		Ladder: &model.GateLadder{Stage: "conformance on netns", Run: "loss-middle", Rule: "GBN-NAK-002",
			Text: "A |---> B\nA |<--- B"},
		Stages: []model.GateStage{
			{Name: "numbers", Bench: "sim", Exact: true, Wall: 2, Numbers: q.Targets, Left: []string{"random goodput"},
				Why: "the budget of 1m0s was used up"},
			{Name: "conformance", Bench: "netns", Wall: 60, Status: q.Status, Reasons: q.Reasons, Rules: q.Rules,
				Left: []string{"loss-tail"}, Why: "loss-middle failed",
				Runs: []model.GateRun{{ScenarioOutcome: q.Scenarios[0], Broken: []string{"GBN-NAK-002"},
					Repeats: []string{"FAIL", "PASS"}}, {ScenarioOutcome: q.Scenarios[1]}}},
			{Name: "links", Bench: "netns", Status: "NOT-APPLICABLE", Reasons: []string{}, Left: []string{"clean"},
				Why: "conformance on netns failed"},
		}}
	g.Stages[0].SettleNumbers()
	for i, k := range []model.GateKind{model.Changed, model.Fixed, model.NewFailure, model.Regressed, model.Improved,
		model.Uncompared} {
		g.Changes = append(g.Changes, model.GateChange{Kind: k, Stage: "conformance on netns", What: q.Rules[i].Rule,
			Text: "in loss-middle"})
	}
	g.Settle()
	return g
}
