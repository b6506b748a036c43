package model

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	"github.com/rdma-gauntlet/gauntlet/netem/certify"
	"github.com/rdma-gauntlet/gauntlet/perf/suite"
)

// Qualification is the decision whether an implementation meets a profile, with all its evidence. It is written as
// qualification.json.
type Qualification struct {
	Format  int     `json:"format"`
	Version string  `json:"version"` // of this tool
	Commit  string  `json:"commit"`
	Started string  `json:"started"` // RFC 3339
	Wall    float64 `json:"wall_seconds"`
	Command string  `json:"command"` // command line that repeats the qualification
	Bench   string  `json:"bench"`
	Folder  string  `json:"folder"` // folder of the run folders

	Profile     string `json:"profile"`
	ProfileHash string `json:"profile_hash"` // see profiles.Profile.Hash
	RulesHash   string `json:"rules_hash"`   // see rules.Hash
	Title       string `json:"title"`        // of the profile
	Subject     string `json:"subject"`
	// implementation at the other end; the subject itself when none was named
	Peer         string         `json:"peer"`
	Reference    string         `json:"reference"`
	Capabilities []Capabilities `json:"capabilities"`
	Environment  []Fact         `json:"environment"`

	Qualified      bool     `json:"qualified"`
	Status         string   `json:"status"` // the worst status that counts: PASS and XFAIL qualify
	validity.State          // INVALID when the link of a scenario was in doubt
	Reasons        []string `json:"reasons"` // reasons why it is not qualified, or defects in spite of which it is

	Rules     []RuleOutcome     `json:"rules"` // in the order of the catalogue
	Scenarios []ScenarioOutcome `json:"scenarios"`
	Targets   *suite.Result     `json:"targets,omitempty"`
	Waivers   []WaiverOutcome   `json:"waivers"`

	TargetRuns []ScenarioOutcome `json:"target_runs,omitempty"` // their last attempts; no folder is kept of them
}

// Capabilities is the declaration of an end.
type Capabilities struct {
	Name     string   `json:"name"`
	Title    string   `json:"title"`
	Source   string   `json:"source"`
	Features []string `json:"features"`
	Params   []string `json:"params"`
	Said     any      `json:"said,omitempty"` // first line of a program, see images/CONTRACT.md
}

// RuleOutcome is the combined outcome of a rule in all scenarios.
type RuleOutcome struct {
	Rule     string      `json:"rule"`
	Level    rule.Level  `json:"level"`
	Title    string      `json:"title"`
	Source   rule.Source `json:"source"`
	Role     string      `json:"role,omitempty"` // of a device that is judged in two roles
	Status   string      `json:"status"`
	Required bool        `json:"required"` // by the profile
	Core     bool        `json:"core"`     // must be exercised and hold
	Judged   int         `json:"judged"`   // scenarios that exercised it
	Met      int         `json:"met"`      // times that its stimulus arose
	Total    int         `json:"violations"`
	Broken   []string    `json:"broken,omitempty"` // scenarios
	Finding  string      `json:"finding,omitempty"`
	// the command that explains the rule, if there is a finding
	Explain string `json:"explain,omitempty"`
	Reason  string `json:"reason,omitempty"`
}

// ScenarioOutcome is one scenario, or one run of a target.
type ScenarioOutcome struct {
	Name   string `json:"name"`
	Title  string `json:"title"`
	Role   string `json:"role,omitempty"`
	Status string `json:"status"`
	Reason string `json:"reason,omitempty"`
	Fault  string `json:"fault,omitempty"` // side of the end that crashed, stalled or was not done
	validity.State
	Seed         uint64                `json:"seed"`
	SpecHash     string                `json:"spec_hash,omitempty"`
	Folder       string                `json:"folder,omitempty"`
	Again        string                `json:"again,omitempty"` // command that repeats the run
	Certificates []certify.Certificate `json:"certificates,omitempty"`
}

// WaiverOutcome is a waiver that names the subject, and its outcome.
type WaiverOutcome struct {
	Rule    string `json:"rule"`
	Impl    string `json:"impl"`
	Owner   string `json:"owner"`
	Expires string `json:"expires"`
	Reason  string `json:"reason"`
	Status  string `json:"status"` // XFAIL, XPASS, EXPIRED, or INCONCLUSIVE when its rule was not exercised
}

// Expired is the status of a waiver after its day of expiry.
const Expired = "EXPIRED"

// status parses the name of a status; an unknown name is an ERROR.
func status(name string) rule.Status {
	var s rule.Status
	if s.UnmarshalText([]byte(name)) != nil {
		return rule.Error
	}
	return s
}

// Settle sets the status from the required rules, the links and the harness in all scenarios, and the targets, and
// lists every reason. A core rule that was not seen to hold counts against the subject like a broken one. A waived
// failure is listed and does not count; a needless waiver counts.
func (q *Qualification) Settle() {
	worst := rule.Pass
	q.Reasons, q.State = []string{}, validity.State{}
	add := func(s rule.Status, format string, args ...any) {
		worst = max(worst, s)
		q.Reasons = append(q.Reasons, fmt.Sprintf(format, args...))
	}
	shown := 0
	for i := range q.Rules {
		if r := &q.Rules[i]; r.Required {
			if r.settle(add) == rule.Pass {
				shown++
			}
		}
	}
	for i := range q.Scenarios {
		s := &q.Scenarios[i]
		switch found := status(s.Status); {
		case found.Unproven() || found == rule.Fail && s.Fault != "":
			add(found, "scenario %s %s: %s", s.Name, found, cmp.Or(s.Reason, "no verdict"))
		case s.Doubtful():
			add(rule.Invalid, "scenario %s %s: %s", s.Name, s.Status, s.Note(s.Status))
		}
		q.doubt(s)
	}
	if shown == 0 {
		add(rule.Inconclusive, "no required rule was seen to hold")
	}
	if q.Targets != nil {
		q.settleTargets(add)
	}
	q.Status, q.Qualified = worst.String(), worst == rule.Pass
}

// doubt adds the state of a scenario's link. A link in doubt outweighs all others.
func (q *Qualification) doubt(s *ScenarioOutcome) {
	switch {
	case q.Doubtful() || s.Validity == "":
	case s.Doubtful():
		q.State = validity.State{Validity: s.Validity, Doubt: "in " + s.Name + ", " + s.Doubt}
	default:
		q.Validity = s.Validity
	}
}

// settle adds the reasons against a required rule, and returns its status.
func (r *RuleOutcome) settle(add func(rule.Status, string, ...any)) rule.Status {
	s := status(r.Status)
	switch {
	case s == rule.XFail:
		add(rule.Pass, "%s", r.because())
	case s >= rule.XPass:
		add(s, "%s", r.because())
	case r.Core && s != rule.Pass:
		add(rule.Inconclusive, "%s %s: the profile asks to see it hold", r.name(), r.Status)
	}
	return s
}

// settleTargets adds the numbers that are outside their bounds, or for which this is not certain.
func (q *Qualification) settleTargets(add func(rule.Status, string, ...any)) {
	unmeasured := rule.Error
	if slices.ContainsFunc(q.TargetRuns, func(s ScenarioOutcome) bool {
		return s.Fault != "" && s.Status == rule.Fail.String()
	}) {
		unmeasured = rule.Fail // because a run did not end through the fault of the subject
	}
	for i := range q.Targets.Claims {
		for k := range q.Targets.Claims[i].Measured {
			m := &q.Targets.Claims[i].Measured[k]
			switch m.Status {
			case suite.Broken:
				add(rule.Fail, "target %s FAIL: %.3g, want %s", m.Title(), m.Estimate.Value, bound(m))
			case suite.Open:
				add(rule.Inconclusive, "target %s INCONCLUSIVE: %.3g, want %s; more --seeds would tell", m.Title(),
					m.Estimate.Value, bound(m))
			case suite.Unknown:
				add(unmeasured, "target %s %s: %s", m.Title(), unmeasured, m.Trouble)
			}
		}
	}
}

// bound states the bound of a number in words.
func bound(m *suite.Measured) string {
	switch {
	case m.High == nil && m.Low == nil:
		return "0 at least"
	case m.High == nil:
		return fmt.Sprintf("%.3g at least", *m.Low)
	case m.Low == nil:
		return fmt.Sprintf("%.3g at most", *m.High)
	}
	return fmt.Sprintf("%.3g to %.3g", *m.Low, *m.High)
}

// name returns the ID of the rule, with the role in which it was judged.
func (r *RuleOutcome) name() string {
	if r.Role != "" {
		return r.Rule + " (" + r.Role + ")"
	}
	return r.Rule
}

// because states in a line why the rule is not PASS.
func (r *RuleOutcome) because() string {
	return fmt.Sprintf("%s %s: %s", r.name(), r.Status, cmp.Or(r.Reason, r.Finding, r.Title))
}

// Counts returns the number of rules with each status, in the order of the statuses.
func (q *Qualification) Counts() []Fact {
	var all []rule.Verdict
	for i := range q.Rules {
		all = append(all, rule.Verdict{Status: status(q.Rules[i].Status)})
	}
	return (&Result{Verdicts: all}).Counts()
}

// Verdict returns the headline: the outcome in a word or two.
func (q *Qualification) Verdict() string {
	return status(q.Status).Qualifies()
}

// Undecided reports whether the run says nothing about the implementation, because its link or the harness was at fault
// and no FAIL stands.
func (q *Qualification) Undecided() bool { return status(q.Status).Unproven() }

// Shown reports whether a rule has a FAIL that stands, whether or not the profile requires the rule.
func (q *Qualification) Shown() bool {
	return slices.ContainsFunc(q.Rules, func(r RuleOutcome) bool { return r.Status == rule.Fail.String() })
}

// Certified counts the link certificates, and those that are valid.
func (q *Qualification) Certified() (valid, all int) {
	for _, runs := range [][]ScenarioOutcome{q.Scenarios, q.TargetRuns} {
		for i := range runs {
			for _, c := range runs[i].Certificates {
				all++
				if c.Valid {
					valid++
				}
			}
		}
	}
	return valid, all
}
