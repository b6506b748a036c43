package rule

import (
	"fmt"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
)

// Status is the outcome of a rule over a run. Statuses are ordered by severity, so the worst of several is the largest.
// Fail is the worst of all: it is a proof, and no other status hides it.
type Status uint8

// The statuses.
const (
	Pass          Status = iota
	Inconclusive         // the stimulus never arose, or could not be observed
	NotApplicable        // the implementation does not declare the feature
	XFail                // the device broke the rule, and a waiver covers that
	XPass                // a waived rule passed: the waiver is out of date
	Invalid              // link, capture or host lacked a property on which the evidence rests
	Error                // the harness broke
	Fail                 // the device broke the rule
)

var statusNames = [...]string{"PASS", "INCONCLUSIVE", "NOT-APPLICABLE", "XFAIL", "XPASS", "INVALID", "ERROR", "FAIL"}

// Unproven reports whether the status proves nothing about the device: INVALID and ERROR.
func (s Status) Unproven() bool { return s == Invalid || s == Error }

// Qualifies returns the outcome of a qualification whose worst status is s. NOT DECIDED says nothing about the device.
func (s Status) Qualifies() string {
	switch {
	case s == Pass:
		return "QUALIFIED"
	case s.Unproven():
		return "NOT DECIDED"
	}
	return "NOT QUALIFIED"
}

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

// Verdict is the result of a rule for a run, over all conversations.
type Verdict struct {
	Rule     string `json:"rule"`
	Level    Level  `json:"level"`
	Title    string `json:"title"`
	Source   Source `json:"source"`
	Status   Status `json:"status"`
	Required bool   `json:"required"`         // MUST or MUST NOT: a FAIL of the rule fails the run; a SHOULD is advice
	Reason   string `json:"reason,omitempty"` // why it is INCONCLUSIVE, NOT-APPLICABLE, INVALID, ERROR or waived
	Met      int    `json:"met"`              // how often the rule's stimulus arose
	Total    int    `json:"total"`            // violations found, including those beyond the limit of Findings
	Against  [2]int `json:"-"`                // violations of Total for which A is to blame, and B
	Doubt    string `json:"-"`                // why the verdict cannot be PASS; "" when it can
	// Findings are the first violations, in time order; More counts the others. The findings of an INVALID verdict
	// prove nothing.
	Findings []Finding `json:"findings,omitempty"`
	Counts   []Count   `json:"counts,omitempty"`  // of a rule of devices: the counters, and the bounds from the trace
	Explain  string    `json:"explain,omitempty"` // the command that explains the rule; "" without findings

	Rests validity.Property `json:"rests_on,omitempty"` // the properties on which the evidence rests
}

// newVerdict starts the verdict of r.
func newVerdict(r *Rule) Verdict {
	return Verdict{Rule: r.ID, Level: r.Level, Title: r.Title, Source: r.Source,
		Required: r.Level == Must || r.Level == MustNot, Rests: r.RestsOn()}
}

// add adds the results of one plan.
func (v *Verdict) add(a *account) {
	v.Met += a.met
	v.Total += a.total
	v.Against[0], v.Against[1] = v.Against[0]+a.against[0], v.Against[1]+a.against[1]
	v.Findings = append(v.Findings, a.findings...)
	v.Counts = append(v.Counts, a.counts...)
}

// remark takes the first remarks over the half-conversations of all plans: a doubt and a panic.
func (v *Verdict) remark(doubt, broken remark) {
	v.Doubt = doubt.text
	if broken.text != "" {
		v.Status, v.Reason = Error, fmt.Sprintf("the check panicked on connection %d: %s", broken.conn, broken.text)
	}
}

// settle decides the status after every conversation has been added, and keeps the first most findings. Missing is the
// evidence that some conversation did not show.
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

// Tells reports whether a rule with verdict v on a broken engine and verdict right on the correct one distinguishes
// them: the correct one passes and the broken one fails. An Observation never fails: it must have violations on one of
// them and none on the other.
func (v *Verdict) Tells(right *Verdict) bool {
	switch {
	case right.Status != Pass:
		return false
	case right.Level == Observation:
		return (v.Total > 0) != (right.Total > 0)
	}
	return v.Status == Fail
}

// RestsOn returns the properties on which the evidence of the rule rests. The default for a rule of one tap is
// validity.Reaction, the packets at the tap and their times; for a rule of both taps validity.Path, which adds the path
// between them.
func (r *Rule) RestsOn() validity.Property {
	switch {
	case r.Rests != 0:
		return r.Rests
	case r.Needs&Fates != 0 || r.Needs&Both == Both:
		return validity.Path
	}
	return validity.Reaction
}

// Invalidate makes INVALID each verdict for which against, called with the properties on which its evidence rests,
// returns a reason. INCONCLUSIVE and NOT-APPLICABLE verdicts, which prove nothing, stay, and so do ERRORs.
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

// Doubt makes INCONCLUSIVE each FAIL whose evidence rests on a property that a doubt says does not hold. The findings
// stay in the verdict. A PASS stays: a rule that was seen to hold did hold.
func Doubt(verdicts []Verdict, doubts []trace.Doubt) {
	for _, d := range doubts {
		for i := range verdicts {
			if v := &verdicts[i]; v.Status == Fail && v.Rests.Fails(d.Fails) {
				v.Status, v.Reason = Inconclusive, fmt.Sprintf("%s: this may be the cause of the finding", d.Why)
			}
		}
	}
}
