package meta

import (
	"reflect"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
)

// Settler returns the status of a run from its verdicts, as judging.Settle does, when properties of link, capture or
// host failed; 0 is none. It changes the verdicts that rest on failed properties.
type Settler func(verdicts []rule.Verdict, failed validity.Property) rule.Status

// Unproven judges each recording with each property failing in turn (META-VAL-001). Verdicts of rules that rest on the
// property must become INVALID when a bench measures the failure, and INCONCLUSIVE when a capture shows it; all others
// must not change.
func Unproven(by Judge, settle Settler, rules []rule.Rule, over []*Recording) (rule.Verdict, error) {
	var a account
	for _, r := range over {
		whole, err := r.judge(by, rules)
		if err != nil {
			return rule.Verdict{}, err
		}
		for p := validity.Frames; p <= validity.Clock; p <<= 1 {
			measured := slices.Clone(whole)
			settle(measured, p)
			a.taken(r.Name+", measured", p, rules, whole, measured, rule.Invalid)
			shown := slices.Clone(whole)
			rule.Doubt(shown, []trace.Doubt{{Fails: p, Why: p.String()}})
			a.taken(r.Name+", shown", p, rules, whole, shown, rule.Inconclusive)
			lacking, err := by(doubted(r.Header, p), rules, r.Options, r.Play)
			if err != nil {
				return rule.Verdict{}, err
			}
			a.taken(r.Name+", shown by its connections", p, rules, whole, lacking, rule.Inconclusive)
		}
	}
	return a.verdict(Validity), nil
}

// doubted returns a header whose connections lack a property.
func doubted(h trace.Header, p validity.Property) trace.Header {
	h.Conns = slices.Clone(h.Conns)
	for i := range h.Conns {
		d := trace.Doubt{Fails: p, Why: p.String()}
		h.Conns[i].Doubts = [2]*trace.Doubt{&d, &d}
	}
	return h
}

// taken records the verdicts that changed although their rules do not rest on property p, and those that did not become
// as although their rules rest on it. A doubt does not change a PASS, because a rule that was seen to hold did hold.
func (a *account) taken(name string, p validity.Property, rules []rule.Rule, before,
	after []rule.Verdict, as rule.Status) {
	for i, was := range before {
		is, rests := after[i], rules[i].RestsOn().Fails(p)
		proved := was.Status == rule.Fail || was.Status == rule.Pass
		if proved {
			a.met++
		}
		changed := is.Status == as && is.Reason != ""
		switch {
		case !rests && !reflect.DeepEqual(was, is):
			a.failf("%s: %s does not rest on %v, and is %v with it and %v without", name, was.Rule, p,
				was.Status, is.Status)
		case rests && proved && !changed && (was.Status == rule.Fail || as == rule.Invalid):
			a.failf("%s: %s rests on %v, and is %v with it and %v without: %q", name, was.Rule, p, was.Status,
				is.Status, is.Reason)
		}
	}
}

// Undecided settles the verdicts on empty traces (META-VAC-001): the connections of the recordings, without packets or
// events.
func Undecided(by Judge, settle Settler, rules []rule.Rule, over []*Recording) (rule.Verdict, error) {
	var a account
	for _, r := range over {
		verdicts, err := by(r.Header, rules, r.Options, func(s trace.Sink) error { s.End(r.ended); return nil })
		if err != nil {
			return rule.Verdict{}, err
		}
		if a.met++; settle(verdicts, 0) == rule.Pass {
			a.failf("%s: PASS of a trace in which nothing happens", r.Name)
		}
	}
	return a.verdict(Vacuous), nil
}
