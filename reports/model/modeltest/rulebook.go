package modeltest

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// Rulebook returns a new small rulebook: a rule with every field set, and one that is not built.
func Rulebook() *model.Rulebook {
	return &model.Rulebook{Format: model.FormatVersion, Version: "0.1.0", Commit: "0123456789abcdef",
		Families: []model.RuleFamily{
			{Name: "RC", About: "Reliable connections.", Rules: []model.RuleEntry{{
				ID: "RC-NAK-002", Level: rule.MustNot, Title: "No second NAK of a gap", Stimulus: "a lost request",
				Needs:    []string{"the responder's tap"},
				Source:   rule.Source{Ref: "IBTA 9.7.5.2", Requirement: "One NAK for each gap."},
				Features: []string{"gbn"},
				Devices:  []string{"RNICs"}, RestsOn: "frames, capture",
				Causes: []string{"The NAK is repeated for each packet beyond the gap."},
				Kept: &model.RuleExample{Name: "pass", About: "One loss.", Given: []string{"qp rate=1G"},
					Ladder: "     sent      recv  A  B\n    1.000     1.400  |-- WRITE -->|\n"},
				Broken: &model.RuleExample{Name: "fail",
					Ladder:   "     sent      recv  A  B\n    1.000     1.400  |<-- NAK --|  <== RC-NAK-002\n",
					Findings: []string{"packet 3, B>A NAK psn=+0: second NAK of psn=+0"}},
				Others: []string{"pass_twice"}, Engines: []model.Culprit{{Name: "broken-nak-always",
					Breaks: "sends a NAK for every packet"}},
			}}},
			{Name: "WRK", About: "Ordered work.", Rules: []model.RuleEntry{{
				ID: "WRK-POST-002", Level: rule.Should, Title: "What is posted was ordered", Stimulus: "none",
				Devices: []string{"RNICs"}, RestsOn: "frames",
				Source: rule.Source{Ref: "ours", Requirement: "Nothing else is posted."}, Unbuilt: "nobody tells",
				Uncaught: "an engine posts nothing",
			}}}}}
}
