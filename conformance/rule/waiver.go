package rule

import (
	"fmt"
	"path"
)

// Waiver says that a rule is known to be broken by an implementation, who answers for it, and until when.
type Waiver struct {
	Rule    string // a rule ID, or a pattern of path.Match such as "RC-RNR-*"
	Impl    string // the implementation or device, likewise
	Reason  string
	Owner   string
	Expires string // the last day on which it holds, "2027-01-31"
}

// Validate returns an error that names the field that is missing or wrong.
func (w *Waiver) Validate() error {
	for _, f := range []struct{ name, value string }{
		{"rule", w.Rule}, {"impl", w.Impl}, {"reason", w.Reason}, {"owner", w.Owner}, {"expires", w.Expires},
	} {
		if f.value == "" {
			return fmt.Errorf("waiver of %q for %q: no %s; a waiver needs rule, impl, reason, owner and expires", w.Rule, w.Impl, f.name)
		}
	}
	var y, m, d int
	if n, err := fmt.Sscanf(w.Expires, "%4d-%2d-%2d", &y, &m, &d); n != 3 || err != nil || len(w.Expires) != len("2027-01-31") {
		return fmt.Errorf("waiver of %q for %q: expires %q: want a day such as 2027-01-31", w.Rule, w.Impl, w.Expires)
	}
	if _, err := path.Match(w.Rule, ""); err != nil {
		return fmt.Errorf("waiver of %q: %w", w.Rule, err)
	}
	if _, err := path.Match(w.Impl, ""); err != nil {
		return fmt.Errorf("waiver for %q: %w", w.Impl, err)
	}
	return nil
}

// Waive applies waivers to the verdicts on an implementation: FAIL becomes XFAIL, PASS becomes XPASS, and the reason says
// by whom. The first waiver that matches decides. An expired one changes nothing but is mentioned. Today is a day such
// as "2026-01-31".
func Waive(verdicts []Verdict, waivers []Waiver, impl, today string) {
	for i := range verdicts {
		for j := range waivers {
			if w := &waivers[j]; w.covers(verdicts[i].Rule, impl) {
				verdicts[i].waive(w, today)
				break
			}
		}
	}
}

func (w *Waiver) covers(rule, impl string) bool {
	r, _ := path.Match(w.Rule, rule)
	i, _ := path.Match(w.Impl, impl)
	return r && i
}

func (v *Verdict) waive(w *Waiver, today string) {
	switch {
	case v.Status != Fail && v.Status != Pass:
	case w.Expires < today: // ISO dates order as strings
		v.Reason = fmt.Sprintf("the waiver of %s expired on %s: %s", w.Owner, w.Expires, w.Reason)
	case v.Status == Fail:
		v.Status, v.Reason = XFail, fmt.Sprintf("waived by %s until %s: %s", w.Owner, w.Expires, w.Reason)
	default:
		v.Status, v.Reason = XPass, fmt.Sprintf("waived by %s until %s, but passes: %s", w.Owner, w.Expires, w.Reason)
	}
}
