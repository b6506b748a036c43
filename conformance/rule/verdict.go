package rule

import (
	"fmt"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
)

// Status is the outcome of a rule over a run. The order is that of severity, so the worst of several is the largest.
// Fail is the worst of all: it is a proof, and nothing hides it.
type Status uint8

// The statuses.
const (
	Pass          Status = iota
	Inconclusive         // the situation never arose, or could not be seen
	NotApplicable        // the implementation does not declare the feature
	XFail                // the rule is broken, and a waiver says so
	XPass                // a waived rule passed: the waiver is out of date
	Invalid              // link, capture or host were not what the evidence rests on
	Error                // the harness broke
	Fail                 // the device broke the rule
)

var statusNames = [...]string{"PASS", "INCONCLUSIVE", "NOT-APPLICABLE", "XFAIL", "XPASS", "INVALID", "ERROR", "FAIL"}

// Unproven reports a status that says nothing about the device, whatever it did: INVALID and ERROR.
func (s Status) Unproven() bool { return s == Invalid || s == Error }

// String returns the name that reports print: "NOT-APPLICABLE".
func (s Status) String() string {
	if int(s) < len(statusNames) {
		return statusNames[s]
	}
	return "STATUS?"
}

// MarshalText writes the name, so that JSON holds "PASS" and not a number.
func (s Status) MarshalText() ([]byte, error) {
	if int(s) >= len(statusNames) {
		return nil, fmt.Errorf("rule: status %d: want 0 to %d", s, len(statusNames)-1)
	}
	return []byte(statusNames[s]), nil
}

// UnmarshalText reads the name back.
func (s *Status) UnmarshalText(text []byte) error {
	i := slices.Index(statusNames[:], string(text))
	if i < 0 {
		return fmt.Errorf("rule: status %q: want one of %v", text, statusNames)
	}
	*s = Status(i)
	return nil
}

// Worst returns the most severe of the statuses; Pass when there are none.
func Worst(all ...Status) Status {
	worst := Pass
	for _, s := range all {
		worst = max(worst, s)
	}
	return worst
}

// Verdict is what a rule says of a run, over all its conversations.
type Verdict struct {
	Rule     string `json:"rule"`
	Level    Level  `json:"level"`
	Title    string `json:"title"`
	Source   Source `json:"source"`
	Status   Status `json:"status"`
	Required bool   `json:"required"`         // MUST or MUST NOT: its failure fails the run; a SHOULD is advice
	Reason   string `json:"reason,omitempty"` // why it is INCONCLUSIVE, NOT-APPLICABLE, INVALID, ERROR or waived
	Met      int    `json:"met"`              // how often the rule's situation arose
	Total    int    `json:"total"`            // violations found, those beyond the limit included
	Against  [2]int `json:"-"`                // of Total, those for which A is to blame, and B
	Doubt    string `json:"-"`                // why it cannot be PASS; "" when nothing speaks against that
	// Findings are the first few violations, in time order; More counts the others. Those of an INVALID verdict prove
	// nothing.
	Findings []Finding `json:"findings,omitempty"`
	Counts   []Count   `json:"counts,omitempty"`  // of a rule of devices: what was counted, and what the trace says
	Explain  string    `json:"explain,omitempty"` // the command that says more about the rule, where there are findings

	Rests validity.Property `json:"rests_on,omitempty"` // what the evidence rests on
}

// newVerdict starts the verdict of r.
func newVerdict(r *Rule) Verdict {
	return Verdict{Rule: r.ID, Level: r.Level, Title: r.Title, Source: r.Source,
		Required: r.Level == Must || r.Level == MustNot, Rests: r.RestsOn()}
}

// add counts what the checks of one plan found.
func (v *Verdict) add(a *account) {
	v.Met += a.met
	v.Total += a.total
	v.Against[0], v.Against[1] = v.Against[0]+a.against[0], v.Against[1]+a.against[1]
	v.Findings = append(v.Findings, a.findings...)
	v.Counts = append(v.Counts, a.counts...)
}

// remark takes what was said first of the half-conversations of all plans.
func (v *Verdict) remark(doubt, broken remark) {
	v.Doubt = doubt.text
	if broken.text != "" {
		v.Status, v.Reason = Error, fmt.Sprintf("the check panicked on connection %d: %s", broken.conn, broken.text)
	}
}

// settle decides the status once every conversation is counted, and keeps most findings; missing is what some
// conversation did not show.
func (v *Verdict) settle(r *Rule, missing Vantage, most int) {
	slices.SortStableFunc(v.Findings, func(a, b Finding) int {
		if a.At != b.At {
			return int(max(-1, min(1, a.At-b.At)))
		}
		return a.Conn - b.Conn
	})
	if len(v.Findings) > 0 {
		v.Explain = Explain(v.Rule)
	}
	most = min(most, len(v.Findings))
	v.Findings = v.Findings[:most:most]
	switch {
	case v.Status == Error:
	case v.Total > 0 && r.Level != Observation:
		v.Status = Fail
	case v.Doubt != "":
		v.Status, v.Reason = Inconclusive, v.Doubt
	case v.Met > 0:
		v.Status = Pass
	case missing != 0:
		v.Status, v.Reason = Inconclusive, "needs "+missing.String()
	default:
		v.Status, v.Reason = Inconclusive, "stimulus not seen: "+r.Stimulus
	}
}

// Tells reports whether a rule that says v of a broken engine tells it from the right one, of which it says right. An
// observation never fails: it has to find something on one of them and nothing on the other.
func (v *Verdict) Tells(right *Verdict) bool {
	switch {
	case right.Status != Pass:
		return false
	case right.Level == Observation:
		return (v.Total > 0) != (right.Total > 0)
	}
	return v.Status == Fail
}

// RestsOn returns what the evidence of the rule rests on. A rule that declares nothing rests, with one tap, on what
// passed the tap and when; with both, on the path between them as well.
func (r *Rule) RestsOn() validity.Property {
	switch {
	case r.Rests != 0:
		return r.Rests
	case r.Needs&Fates != 0 || r.Needs&Both == Both:
		return validity.Path
	}
	return validity.Reaction
}

// Invalidate makes INVALID the verdicts whose evidence does not stand: those for which against, given what the evidence
// rests on, returns a reason. A verdict that proves nothing has nothing to lose and stays, and so does that of a check
// that broke.
func Invalidate(verdicts []Verdict, against func(rests validity.Property) string) {
	for i := range verdicts {
		switch v := &verdicts[i]; v.Status {
		case Inconclusive, NotApplicable, Error:
		default:
			if why := against(v.Rests); why != "" {
				v.Status, v.Reason = Invalid, why
			}
		}
	}
}

// Doubt makes INCONCLUSIVE what a property would have to prove that does not hold: a FAIL whose evidence rests on it.
// Its findings stay, for whoever looks for them. What was seen to hold did.
func Doubt(verdicts []Verdict, doubts []trace.Doubt) {
	for _, d := range doubts {
		for i := range verdicts {
			if v := &verdicts[i]; v.Status == Fail && v.Rests.Fails(d.Fails) {
				v.Status, v.Reason = Inconclusive, fmt.Sprintf("%s: that may be why this was found", d.Why)
			}
		}
	}
}
