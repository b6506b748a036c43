package model

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/perf/suite"
)

// Gate is the decision whether a change may be merged, with all its evidence. It is written as gate.json, which is also
// the baseline of later gates.
type Gate struct {
	Format  int     `json:"format"`
	Version string  `json:"version"` // of this tool
	Commit  string  `json:"commit"`
	Built   string  `json:"built,omitempty"` // time of that commit, RFC 3339; "" when unknown
	Started string  `json:"started"`         // RFC 3339
	Wall    float64 `json:"wall_seconds"`
	Command string  `json:"command"` // command line that repeats the gate
	Folder  string  `json:"folder"`  // folder with the run folders of the runs that did not pass
	File    string  `json:"file,omitempty"`
	Subject string  `json:"subject"`
	Peer    string  `json:"peer"` // implementation at the other end; the subject itself when none was named

	// Status is PASS, FAIL, XPASS, INVALID, ERROR, INCONCLUSIVE, or INCOMPLETE when runs that are required were left
	// out.
	Status  string   `json:"status"`
	Reasons []string `json:"reasons"` // why it is not PASS

	Stages  []GateStage     `json:"stages"` // in the order in which they were run, the fast and exact ones first
	Waivers []WaiverOutcome `json:"waivers"`

	Baseline *GateBaseline `json:"baseline,omitempty"` // nil without one
	Changes  []GateChange  `json:"changes"`            // since the baseline, regressions first
	Ladder   *GateLadder   `json:"ladder,omitempty"`   // of the first finding that a packet shows
}

// GateStage is the set of runs on one bench for one purpose.
type GateStage struct {
	Name  string  `json:"name"` // "conformance", "links" or "targets"
	Bench string  `json:"bench"`
	Exact bool    `json:"exact"` // in virtual time, where the same commit gives the same numbers
	Wall  float64 `json:"wall_seconds"`

	Status  string   `json:"status"`
	Reasons []string `json:"reasons"`
	Left    []string `json:"left_out,omitempty"` // runs that were selected but not run; Why has the reason
	Why     string   `json:"why,omitempty"`

	Rules   []RuleOutcome `json:"rules,omitempty"` // in the order of the catalogue
	Runs    []GateRun     `json:"runs,omitempty"`
	Numbers *suite.Result `json:"numbers,omitempty"` // each with the values of its seeds
}

// GateRun is a scenario, or a link of the matrix.
type GateRun struct {
	ScenarioOutcome
	Broken  []string     `json:"broken,omitempty"`  // required rules
	Repeats []string     `json:"repeats,omitempty"` // statuses of the repetitions of the same Spec
	Numbers []GateNumber `json:"numbers,omitempty"` // of an exact run
}

// GateNumber is one number of an exact run.
type GateNumber struct {
	Name  string `json:"name"`
	Value int64  `json:"value"`
}

// GateBaseline describes the result with which the gate was compared.
type GateBaseline struct {
	File    string `json:"file"`
	Version string `json:"version"` // of the tool that made it
	Commit  string `json:"commit"`
	Started string `json:"started"`
}

// GateKind is the kind of a change.
type GateKind string

// The kinds, in the order of interest to a reader.
const (
	NewFailure GateKind = "new failure"
	Regressed  GateKind = "regressed" // of a number with an interval
	Fixed      GateKind = "fixed"
	Improved   GateKind = "improved" // likewise
	Changed    GateKind = "changed"  // an exact number
	Uncompared GateKind = "not compared"
)

var gateKinds = []GateKind{NewFailure, Regressed, Fixed, Improved, Changed, Uncompared}

// GateChange is one difference from the baseline.
type GateChange struct {
	Kind  GateKind `json:"kind"`
	Stage string   `json:"stage"` // "conformance on sim"
	What  string   `json:"what"`  // a rule, a scenario or a number
	Text  string   `json:"text"`  // the place of the change, or the values before and after it
}

// GateLadder is the drawing around the first finding.
type GateLadder struct {
	Stage string `json:"stage"`
	Run   string `json:"run"`
	Rule  string `json:"rule"`
	Text  string `json:"text"`
}

// Title names a stage.
func (s *GateStage) Title() string { return s.Name + " on " + s.Bench }

// Judged returns the number of rules that were exercised.
func (s *GateStage) Judged() (n int) {
	for i := range s.Rules {
		if s.Rules[i].Judged > 0 {
			n++
		}
	}
	return n
}

// Measured returns the number of measured numbers.
func (s *GateStage) Measured() (n int) {
	if s.Numbers != nil {
		for i := range s.Numbers.Claims {
			n += len(s.Numbers.Claims[i].Measured)
		}
	}
	return n
}

// Flaky reports whether a run that failed ended with another status when the same Spec was run again. It stays a
// failure: one observed failure is enough.
func (r *GateRun) Flaky() bool {
	return slices.ContainsFunc(r.Repeats, func(s string) bool { return s != r.Status })
}

// Failed reports whether a run speaks against the subject.
func (r *GateRun) Failed() bool { return r.Status == rule.Fail.String() }

// Repeated states in words how the repetitions of a failed run ended; "" without repetitions.
func (r *GateRun) Repeated() string {
	failed := 1
	for _, s := range r.Repeats {
		if s == r.Status {
			failed++
		}
	}
	switch {
	case len(r.Repeats) == 0:
		return ""
	case r.Flaky():
		return fmt.Sprintf("flaky: %s in %d of %d runs of the same Spec", r.Status, failed, 1+len(r.Repeats))
	}
	return fmt.Sprintf("broken: %s in all %d runs of the same Spec", r.Status, failed)
}

// SettleNumbers gives a stage of numbers its status. Each number that is outside its bound, or for which this is not
// certain, is a reason.
func (s *GateStage) SettleNumbers() {
	worst := rule.Pass
	q := Qualification{Targets: s.Numbers}
	for i := range s.Runs {
		q.TargetRuns = append(q.TargetRuns, s.Runs[i].ScenarioOutcome)
	}
	s.Reasons = []string{}
	q.settleTargets(func(found rule.Status, format string, args ...any) {
		worst = max(worst, found)
		s.Reasons = append(s.Reasons, fmt.Sprintf(format, args...))
	})
	s.Status = worst.String()
}

// Settle gives the gate the worst status of its stages. A number that regressed is a failure of the subject.
func (g *Gate) Settle() {
	slices.SortStableFunc(g.Changes, func(a, b GateChange) int {
		return cmp.Compare(slices.Index(gateKinds, a.Kind), slices.Index(gateKinds, b.Kind))
	})
	worst, incomplete := rule.Pass, false
	g.Reasons = []string{}
	for i := range g.Stages {
		s := &g.Stages[i]
		switch s.Status {
		case Incomplete:
			incomplete = true
		case rule.NotApplicable.String(): // left out, and listed as such
		default:
			worst = max(worst, status(s.Status))
		}
		for _, r := range s.Reasons {
			g.Reasons = append(g.Reasons, s.Title()+": "+r)
		}
	}
	for _, c := range g.Changes {
		if c.Kind == Regressed {
			worst = rule.Fail
			g.Reasons = append(g.Reasons, fmt.Sprintf("%s: %s regressed: %s", c.Stage, c.What, c.Text))
		}
	}
	g.Status = worst.String()
	if incomplete && worst < rule.XPass {
		g.Status = Incomplete
	}
}

// Count returns the number of changes of a kind.
func (g *Gate) Count(k GateKind) (n int) {
	for _, c := range g.Changes {
		if c.Kind == k {
			n++
		}
	}
	return n
}

// Broken returns the required rules that are broken, of all stages in their order, with the first outcome of each rule.
func (g *Gate) Broken() (list []RuleOutcome) {
	seen := map[string]bool{}
	for i := range g.Stages {
		for _, r := range g.Stages[i].Rules {
			if r.Required && (r.Status == rule.Fail.String() || r.Status == rule.XPass.String()) && !seen[r.Rule] {
				seen[r.Rule] = true
				list = append(list, r)
			}
		}
	}
	return list
}
