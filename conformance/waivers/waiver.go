package waivers

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
)

// Waiver records that a device is known to break a rule, with the reason, an owner and the day of expiry.
type Waiver struct {
	Rule   string // a rule ID, or a pattern for path.Match such as "RC-RNR-*"
	Impl   string // the implementation or device, or a pattern for path.Match
	Kernel string // kernel versions of the device, "6.1..6.6", both included; "" is any
	// the scenarios that it covers, "loss-tail,random/read"; "run" covers runs of no scenario; "" covers all runs
	In      string
	Sure    string // those of the scenarios in each of which the deviation is sure to show; "" is all that it covers
	Reason  string
	Owner   string
	Expires string // the last day on which it holds, "2027-01-31"
}

// Device is the device under test: the names of the implementations at the ends, and the kernel, "6.1.0-56-amd64", or
// "" when unknown.
type Device struct {
	Names  []string
	Kernel string
}

// Validate returns an error that names the field that is missing or wrong.
func (w *Waiver) Validate() error {
	for _, f := range []struct{ name, value string }{
		{"rule", w.Rule}, {"impl", w.Impl}, {"reason", w.Reason}, {"owner", w.Owner}, {"expires", w.Expires},
	} {
		if f.value == "" {
			return fmt.Errorf("waiver of %q for %q: no %s; a waiver needs rule, impl, reason, owner and expires",
				w.Rule, w.Impl, f.name)
		}
	}
	var y, m, d int
	if n, err := fmt.Sscanf(w.Expires, "%4d-%2d-%2d", &y, &m, &d); n != 3 || err != nil ||
		len(w.Expires) != len("2027-01-31") {
		return fmt.Errorf("waiver of %q for %q: expires %q: want a day such as 2027-01-31", w.Rule, w.Impl, w.Expires)
	}
	if _, err := path.Match(w.Rule, ""); err != nil {
		return fmt.Errorf("waiver of %q: %w", w.Rule, err)
	}
	if _, err := path.Match(w.Impl, ""); err != nil {
		return fmt.Errorf("waiver for %q: %w", w.Impl, err)
	}
	if _, _, err := w.kernels(); err != nil {
		return fmt.Errorf("waiver of %q for %q: kernel %q: want a range such as 6.1..6.6", w.Rule, w.Impl, w.Kernel)
	}
	return nil
}

// Apply applies waivers to the verdicts on a device in a run of no scenario: FAIL becomes XFAIL, PASS becomes XPASS,
// and the reason names the owner. The first waiver that matches decides. An expired waiver leaves the status and is
// named in the reason of a FAIL. today is a day such as "2026-01-31".
func Apply(verdicts []rule.Verdict, waivers []Waiver, d Device, today string) {
	waivers = In("", waivers)
	Excuse(verdicts, waivers, d, today)
	for i := range verdicts {
		v := &verdicts[i]
		if w := Covering(waivers, v.Rule, d); w != nil && v.Status == rule.Pass && w.Expires >= today && w.Sure == "" {
			v.Status, v.Reason = rule.XPass, fmt.Sprintf("waived by %s until %s, but passes: %s", w.Owner,
				w.Expires, w.Reason)
		}
	}
}

// Excuse is Apply for one of several runs: it leaves a PASS, because one run that passes does not refute a waiver.
func Excuse(verdicts []rule.Verdict, waivers []Waiver, d Device, today string) {
	for i := range verdicts {
		v := &verdicts[i]
		w := Covering(waivers, v.Rule, d)
		switch {
		case w == nil || v.Status != rule.Fail:
		case w.Expires < today: // ISO dates order as strings
			v.Reason = fmt.Sprintf("the waiver of %s expired on %s: %s", w.Owner, w.Expires, w.Reason)
		default:
			v.Status, v.Reason = rule.XFail, fmt.Sprintf("waived by %s until %s: %s", w.Owner, w.Expires, w.Reason)
		}
	}
}

// Covering returns the first waiver of a rule for a device; nil when there is none.
func Covering(waivers []Waiver, id string, d Device) *Waiver {
	for i := range waivers {
		if w := &waivers[i]; w.covers(id, d) {
			return w
		}
	}
	return nil
}

// noScenario stands in Waiver.In for runs of no scenario.
const noScenario = "run"

// In returns the waivers that cover a scenario; "" is a run of no scenario.
func In(scenario string, waivers []Waiver) (list []Waiver) {
	scenario = cmp.Or(scenario, noScenario)
	for _, w := range waivers {
		if w.In == "" || named(w.In, scenario) {
			list = append(list, w)
		}
	}
	return list
}

// RefutedBy reports whether passed, the scenarios in which the waived rule passed, contains one in which the deviation
// is sure to show: then the waiver must go. A stimulus too short to show the deviation refutes nothing.
func (w *Waiver) RefutedBy(passed []string) bool {
	shows := cmp.Or(w.Sure, w.In)
	return slices.ContainsFunc(passed, func(name string) bool { return shows == "" || named(shows, name) })
}

// named reports whether a name is in a list, "a,b".
func named(list, name string) bool { return slices.Contains(strings.Split(list, ","), name) }

func (w *Waiver) covers(id string, d Device) bool {
	match, _ := path.Match(w.Rule, id) // Validate has seen the patterns
	return match && w.coversKernel(d.Kernel) && slices.ContainsFunc(d.Names, func(name string) bool {
		match, _ := path.Match(w.Impl, name)
		return match
	})
}

// coversKernel compares a version with the bounds in as many places as each bound has: 6.6.50 is within 6.1..6.6.
func (w *Waiver) coversKernel(version string) bool {
	from, to, err := w.kernels()
	if w.Kernel == "" || err != nil {
		return err == nil
	}
	v, err := numbers(release(version))
	return err == nil && compareVersions(v, from) >= 0 && compareVersions(v, to) <= 0
}

// release returns the leading numbers of a version without the suffix of a distribution, as in "6.12.117+deb12-amd64".
func release(version string) string {
	if i := strings.IndexFunc(version, func(r rune) bool { return r != '.' && (r < '0' || r > '9') }); i >= 0 {
		version = version[:i]
	}
	return strings.TrimSuffix(version, ".")
}

// kernels returns the bounds of Kernel.
func (w *Waiver) kernels() (from, to []int, err error) {
	if w.Kernel == "" {
		return nil, nil, nil
	}
	low, high, ok := strings.Cut(w.Kernel, "..")
	if !ok {
		high = low
	}
	from, err = numbers(low)
	to, highErr := numbers(high)
	return from, to, errors.Join(err, highErr)
}

// numbers reads "6.1.192".
func numbers(version string) (out []int, err error) {
	for part := range strings.SplitSeq(version, ".") {
		n, err := strconv.Atoi(part)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("version %q: want numbers with dots between them", version)
		}
		out = append(out, n)
	}
	return out, nil
}

// compareVersions compares v with a bound in the places that the bound has.
func compareVersions(v, bound []int) int {
	for len(v) < len(bound) {
		v = append(v, 0)
	}
	return slices.Compare(v[:len(bound)], bound)
}
