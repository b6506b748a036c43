package modeltest

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	"github.com/rdma-gauntlet/gauntlet/netem/certify"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// Qualification returns a new qualification that failed: rules of every status, a waiver with each outcome, a scenario
// with an INVALID link, and targets.
func Qualification() *model.Qualification {
	outcome := func(id, status string, judged, met, total int, more ...func(*model.RuleOutcome)) model.RuleOutcome {
		r := model.RuleOutcome{Rule: id, Level: rule.Must, Title: "What " + id + " asks for",
			Source: rule.Source{Ref: "IBTA 9.7", Requirement: "It shall."},
			Status: status, Required: true, Judged: judged, Met: met, Total: total}
		for _, f := range more {
			f(&r)
		}
		return r
	}
	q := &model.Qualification{
		Format: model.FormatVersion, Version: "0.1.0", Commit: "0123456789abcdef", Started: "2026-03-01T12:00:00Z",
		Wall:    80,
		Command: "gauntlet qualify --impl exec:./mine --profile rc-gbn --bench netns", Bench: "netns",
		Folder:  "runs/mine",
		Profile: "rc-gbn", Title: "RoCEv2 with go-back-N", Subject: "exec:./mine", Peer: "gbn", Reference: "gbn",
		Capabilities: []model.Capabilities{{Name: "exec:./mine", Title: "mine 1.2", Source: "a program",
			Features: []string{"rc", "gbn"}, Params: []string{}}},
		Environment: []model.Fact{{Name: "kernel", Value: "6.1"}},
		Rules: []model.RuleOutcome{
			outcome("WIRE-ICRC-001", "PASS", 90, 5000, 0),
			outcome("GBN-NAK-001", "PASS", 12, 30, 0, func(r *model.RuleOutcome) { r.Core = true }),
			outcome("GBN-NAK-002", "FAIL", 12, 30, 4, func(r *model.RuleOutcome) {
				r.Broken, r.Finding = []string{"loss-middle"}, "second NAK of psn=+2"
			}),
			outcome("GBN-RTX-003", "INCONCLUSIVE", 0, 0, 0, func(r *model.RuleOutcome) { r.Core = true }),
			outcome("RC-RNR-001", "XFAIL", 2, 2, 1, func(r *model.RuleOutcome) {
				r.Reason = "waived by lab until 2027-01-31: slow timer"
			}),
			outcome("RC-READ-001", "NOT-APPLICABLE", 0, 0, 0, func(r *model.RuleOutcome) {
				r.Reason = "mine does not declare operation READ"
			}),
			outcome("NEG-ACK-001", "XPASS", 3, 3, 0),
		},
		Scenarios: []model.ScenarioOutcome{
			{Name: "loss-middle", Title: "A lost middle packet", Status: "FAIL", Reason: "broken: GBN-NAK-002", Seed: 1,
				SpecHash: "abcd", Folder: "runs/mine/scenarios/loss-middle",
				Again: "gauntlet conform --impl exec:./mine", Certificates: []certify.Certificate{{When: "before",
					Valid: true}, {When: "during", Valid: true}}},
			{Name: "loss-tail", Title: "A lost tail", Status: "INVALID",
				Reason: "link certificate during the run: late", Again: "gauntlet conform",
				State:        validity.State{Validity: validity.Invalid, Doubt: "during the run: late"},
				Certificates: []certify.Certificate{{When: "during", Reason: "late"}}},
		},
		Targets: Perf(),
		Waivers: []model.WaiverOutcome{
			{Rule: "RC-RNR-*", Impl: "exec:*", Owner: "lab", Expires: "2027-01-31",
				Reason: "slow timer", Status: "XFAIL"},
			{Rule: "NEG-ACK-001", Impl: "exec:*", Owner: "lab", Expires: "2027-01-31",
				Reason: "once broken", Status: "XPASS"},
			{Rule: "RC-PSN-001", Impl: "exec:*", Owner: "lab", Expires: "2020-01-31", Reason: "long ago",
				Status: model.Expired},
		},
	}
	q.Settle()
	return q
}
