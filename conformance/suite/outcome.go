package suite

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/scenarios"
	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Result is the result of a run: its status, the verdicts of every rule, and the data to find or repeat it.
type Result struct {
	// Status is INVALID or ERROR when the run proves nothing beyond verdicts that stand, and INCONCLUSIVE when it did
	// none of its work; otherwise the verdicts decide.
	Status   rule.Status
	Reason   string         // reason of such a status
	Requests string         // progress of its work: "96 of 100 requests done"; "" when unknown
	Verdicts []rule.Verdict // verdicts of all rules that judged the run
	Seed     uint64
	SpecHash string
	Folder   string // run folder, "" when nothing was kept
	// side of the end that kept the run from finishing, and so failed whatever the verdicts; "" when the run finished
	Fault string

	validity.State
}

// Outcome is the outcome of a spec, and the contents of its report entry.
type Outcome struct {
	Impl     string      `json:"impl"`
	Scenario string      `json:"scenario"`
	Title    string      `json:"title"`
	Version  string      `json:"version,omitempty"` // of the program that judged
	Commit   string      `json:"commit,omitempty"`
	Bench    string      `json:"bench"`
	Status   rule.Status `json:"status"` // PASS, NOT-APPLICABLE, INCONCLUSIVE, FAIL, INVALID or ERROR
	Reason   string      `json:"reason,omitempty"`
	Requests string      `json:"requests,omitempty"` // progress of the work: "96 of 100 requests done"
	validity.State
	Seed     uint64 `json:"seed"`
	SpecHash string `json:"spec_hash,omitempty"`
	Folder   string `json:"folder,omitempty"` // run folder, "" when nothing was kept

	// Verdicts are the verdicts of the rules that the scenario names, and of all other rules that are neither
	// INCONCLUSIVE nor NOT-APPLICABLE.
	Verdicts []Verdict      `json:"verdicts"`
	Findings []rule.Finding `json:"findings"`
	// rules that apply to the implementation and are INCONCLUSIVE here
	Unseen []string `json:"-"`
	// side of the end that crashed, stalled or did not finish; "" when none did
	Fault string `json:"fault,omitempty"`
}

// Verdict is one rule's verdict on one scenario.
type Verdict struct {
	Rule     string      `json:"rule"`
	Level    rule.Level  `json:"level"`
	Status   rule.Status `json:"status"`
	Named    bool        `json:"named,omitempty"` // the scenario names the rule
	Required bool        `json:"required"`
	Reason   string      `json:"reason,omitempty"`
	Met      int         `json:"met"`
	Total    int         `json:"violations"`
	// the command that explains the rule; "" without findings
	Explain string `json:"explain,omitempty"`
	Against [2]int `json:"-"` // violations of Total for which A is to blame, and B
}

// Passed reports whether the spec passes.
func (o *Outcome) Passed() bool { return o.Status == rule.Pass }

// Judge turns the result of a run into the outcome of a spec. Either of r and err may be nil, as Config.Run returns
// them. If strict, a rule that the scenario names and the run did not exercise makes the outcome INCONCLUSIVE.
func Judge(impl, where string, sc *scenarios.Scenario, r *Result, err error, strict bool) *Outcome {
	o := &Outcome{Impl: impl, Scenario: sc.Name, Title: sc.Title, Bench: where}
	if err == nil && r == nil {
		err = fmt.Errorf("suite: the run returned neither a result nor an error")
	}
	if r != nil {
		o.Seed, o.SpecHash, o.Folder, o.Requests = r.Seed, r.SpecHash, r.Folder, r.Requests
		o.take(r.Verdicts, sc.Rules)
		o.settle(r, sc.Rules, strict)
	}
	switch {
	case errors.Is(err, bench.ErrUnsupported):
		o.Status, o.Reason = rule.NotApplicable, err.Error()
	case err != nil && o.Status == rule.Fail:
		o.Reason += "; the run broke: " + err.Error()
	case err != nil:
		o.Status, o.Reason = rule.Error, err.Error()
	}
	return o
}

// take sets Verdicts, Unseen, and Findings, without the findings of INVALID verdicts.
func (o *Outcome) take(all []rule.Verdict, named []string) {
	for i := range all {
		v := &all[i]
		isNamed := slices.Contains(named, v.Rule)
		if v.Status != rule.Invalid {
			o.Findings = append(o.Findings, v.Findings...)
		}
		if isNamed || v.Status != rule.Inconclusive && v.Status != rule.NotApplicable {
			o.Verdicts = append(o.Verdicts, Verdict{v.Rule, v.Level, v.Status, isNamed, v.Required, v.Reason, v.Met,
				v.Total, v.Explain, v.Against})
		}
		if v.Status == rule.Inconclusive {
			o.Unseen = append(o.Unseen, v.Rule)
		}
	}
}

// settle sets the status of the outcome: FAIL when a FAIL stands, else the status of the run when it proves nothing,
// else the worst of the verdicts that count. A broken SHOULD is reported and does not count.
func (o *Outcome) settle(r *Result, named []string, strict bool) {
	o.State = r.State
	var failed, unseen []string
	stands, broke := false, ""
	for _, v := range o.Verdicts {
		switch {
		case v.Status == rule.XPass, v.Status == rule.Fail && v.Required:
			failed, stands = append(failed, v.Rule), stands || v.Status == rule.Fail
		case v.Status == rule.Error:
			broke = cmp.Or(broke, v.Rule+": "+v.Reason)
		case v.Status == rule.Inconclusive && v.Named:
			unseen = append(unseen, v.Rule)
		}
	}
	unseen = append(unseen, missing(r.Verdicts, named)...)
	if r.Fault != "" {
		o.Status, o.Reason, o.Fault = rule.Fail, r.Reason, r.Fault
		if len(failed) > 0 {
			o.Reason += "; broken: " + strings.Join(failed, " ")
		}
		return
	}
	switch {
	case !stands && broke != "":
		o.Status, o.Reason = rule.Error, broke
	case !stands && r.Status.Unproven():
		o.Status, o.Reason = r.Status, r.Reason
	case len(failed) > 0:
		o.Status, o.Reason = rule.Fail, "broken: "+strings.Join(failed, " ")
	// a scenario without a timer may never complete its lost request and still exercise its rules
	case r.Status == rule.Inconclusive && !o.shown():
		o.Status, o.Reason = r.Status, r.Reason
	case len(unseen) > 0 && strict:
		o.Status, o.Reason = rule.Inconclusive, "not exercised: "+strings.Join(unseen, " ")
	}
}

// shown reports whether a rule that the scenario names is PASS.
func (o *Outcome) shown() bool {
	return slices.ContainsFunc(o.Verdicts, func(v Verdict) bool { return v.Named && v.Status == rule.Pass })
}

// Of returns the outcome for the implementation at one side: rules that only its peer broke do not count.
func (o *Outcome) Of(side trace.Side) *Outcome {
	of, peer := *o, side.Other()
	of.Verdicts, of.Findings = nil, nil
	excused, failed := []string{}, false
	for _, v := range o.Verdicts {
		if v.Total > 0 && v.Against[peer] == v.Total && (v.Status == rule.Fail || v.Status == rule.XFail) {
			excused = append(excused, v.Rule)
			continue
		}
		failed = failed || v.Status == rule.XPass || v.Status == rule.Fail && v.Required
		of.Verdicts = append(of.Verdicts, v)
	}
	for _, f := range o.Findings {
		if f.Side != peer.String() {
			of.Findings = append(of.Findings, f)
		}
	}
	if o.Fault == peer.String() {
		of.Fault = ""
	}
	switch {
	case o.Status != rule.Fail || failed || of.Fault != "":
	case o.Fault != "":
		of.Status, of.Reason = rule.Inconclusive, "ended by the peer: "+o.Reason
	case o.Doubtful():
		of.Status, of.Reason = rule.Invalid, "link INVALID "+o.Doubt
	default:
		of.Status, of.Reason = rule.Inconclusive, "broken by the peer: "+strings.Join(excused, " ")
	}
	return &of
}

// missing returns the named rules without a verdict, because the run was not given them.
func missing(all []rule.Verdict, named []string) (out []string) {
	for _, id := range named {
		if !slices.ContainsFunc(all, func(v rule.Verdict) bool { return v.Rule == id }) {
			out = append(out, id)
		}
	}
	return out
}

// String returns the outcome as text: the status, the verdicts that decided it, and every finding.
func (o *Outcome) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s on %s: %s", o.Scenario, o.Impl, o.Bench, o.Status)
	for _, why := range []string{o.Reason, o.Note(o.Status.String())} {
		if why != "" {
			fmt.Fprintf(&b, ", %s", why)
		}
	}
	if o.Requests != "" {
		fmt.Fprintf(&b, "; %s", o.Requests)
	}
	for _, v := range o.Verdicts {
		if v.Status == rule.Inconclusive && v.Named {
			fmt.Fprintf(&b, "\n  %s %s: %s", v.Rule, v.Status, v.Reason)
		}
	}
	for i, f := range o.Findings {
		fmt.Fprintf(&b, "\n  %s %s (%s, connection %d, %s us)", f.Rule, f.Line(), f.Blame, f.Conn,
			vtime.Time(f.At).Micros())
		if last := i+1 == len(o.Findings) || o.Findings[i+1].Rule != f.Rule; last {
			fmt.Fprintf(&b, "%s\n  %s", o.more(f.Rule), rule.Explain(f.Rule))
		}
	}
	return b.String()
}

// more returns a line with the number of violations of a rule that are not among the findings; "" for none.
func (o *Outcome) more(id string) string {
	n := 0
	for _, v := range o.Verdicts {
		if v.Rule == id {
			n += v.Total
		}
	}
	for _, f := range o.Findings {
		if f.Rule == id {
			n--
		}
	}
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf("\n  %s … and %d more", id, n)
}

// encoded is a value with its JSON form.
type encoded struct {
	json json.RawMessage
	text string
}

// encode encodes v; if that fails, the JSON form holds the error and the text of v.
func encode(v fmt.Stringer) encoded {
	b, err := json.Marshal(v)
	if err != nil {
		b, _ = json.Marshal(map[string]string{"error": err.Error(), "text": v.String()})
	}
	return encoded{b, v.String()}
}

// MarshalJSON implements json.Marshaler.
func (e encoded) MarshalJSON() ([]byte, error) { return e.json, nil }

// String implements fmt.Stringer.
func (e encoded) String() string { return e.text }
