package passport

import (
	"fmt"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/quantity"
	"github.com/rdma-gauntlet/gauntlet/perf/datasheet"
)

// Change is a difference between two passports.
type Change struct {
	Name string    `json:"name"`
	Of   [2]string `json:"of"`
	How  string    `json:"how,omitempty"` // WORSE, BETTER, or how certain a difference of numbers is
}

// The judgements of a change. Numbers whose spreads overlap may be the same.
const (
	Worse  = "WORSE"
	Better = "BETTER"
	Apart  = "APART"
	Within = "WITHIN THE SPREAD"
)

// Difference holds the differences between two passports by subject.
type Difference struct {
	Of       [2]string `json:"of"` // labels of the subjects
	Identity []Change  `json:"identity"`
	Verdicts []Change  `json:"verdicts"`
	Targets  []Change  `json:"targets"`
	Sheet    []Change  `json:"datasheet"`
	Counters []Change  `json:"counters"`
}

// absent is the text for a value that one of two passports lacks.
const absent = "–"

// Diff compares two passports, the older one first. A verdict is worse if its rule is newly broken.
func Diff(a, b *Passport) *Difference {
	d := &Difference{Of: [2]string{a.Subject.Label(), b.Subject.Label()}}
	for i, row := range a.Identity() {
		d.Identity = changed(d.Identity, row[0], row[1], b.Identity()[i][1], "")
	}
	d.verdicts(a, b)
	for _, name := range union(a.Targets, b.Targets, (*Target).name) {
		x, y := find(a.Targets, name, (*Target).name), find(b.Targets, name, (*Target).name)
		d.Targets = changed(d.Targets, name, x.String(), y.String(), x.judge(y))
	}
	d.sheets(a, b)
	for _, name := range union(a.Counters, b.Counters, (*Counter).name) {
		x, y := find(a.Counters, name, (*Counter).name), find(b.Counters, name, (*Counter).name)
		d.Counters = changed(d.Counters, name, x.String(), y.String(), x.judge(y))
	}
	return d
}

// Worsened reports whether a verdict, a target or a counter is worse in the second passport.
func (d *Difference) Worsened() bool {
	all := slices.Concat(d.Verdicts, d.Targets, d.Counters)
	return slices.ContainsFunc(all, func(c Change) bool { return c.How == Worse })
}

// changed appends a change if x and y differ.
func changed(list []Change, name, x, y, how string) []Change {
	if x == y {
		return list
	}
	return append(list, Change{name, [2]string{x, y}, how})
}

// Identity returns names and values that identify the subject, the tests and the tool; the names are the same for every
// passport.
func (p *Passport) Identity() [][2]string {
	s := &p.Subject
	return [][2]string{{"subject", s.Name}, {"kind", s.Kind}, {"title", s.Title}, {"version", s.Version},
		{"vendor", s.Vendor}, {"part", s.Part}, {"firmware", s.Firmware}, {"driver", s.Driver}, {"kernel", s.Kernel},
		{"profile", p.Profile.Name}, {"text of the profile", p.Profile.SHA256}, {"peer", p.Peer}, {"bench", p.Bench},
		{"gauntlet", p.Tool.Version}, {"commit", p.Tool.Commit}, {"rules", p.Tool.Rules},
		{"verdict", p.Verdict()}, {"validity of the links", p.Validity}}
}

// verdicts compares the verdicts of rules.
func (d *Difference) verdicts(a, b *Passport) {
	for _, name := range union(a.Rules, b.Rules, (*Rule).Name) {
		x, y := a.Find(name), b.Find(name)
		d.Verdicts = changed(d.Verdicts, name, x.status(), y.status(), x.judge(y))
	}
}

// status returns the status of a rule; absent for nil.
func (r *Rule) status() string {
	if r == nil {
		return absent
	}
	return r.Status
}

// judge judges a later verdict: Worse, Better or "".
func (r *Rule) judge(later *Rule) string {
	broken := func(r *Rule) bool { return r != nil && Plain(r.Status) == rule.Fail.String() }
	held := func(r *Rule) bool { return r != nil && Plain(r.Status) == rule.Pass.String() }
	switch {
	case broken(later) && !broken(r):
		return Worse
	case broken(r) && held(later):
		return Better
	}
	return ""
}

func (t *Target) name() string { return t.Name }

// String returns the number of a target with its interval and its status.
func (t *Target) String() string {
	switch {
	case t == nil:
		return absent
	case t.Value == nil:
		return t.Status
	}
	return quantity.Interval(*t.Value, t.Least, t.Most, t.Unit) + " " + t.Status
}

// judge judges a later number: Worse, Better or how certain the difference is.
func (t *Target) judge(later *Target) string {
	switch {
	case t == nil || later == nil || t.Value == nil || later.Value == nil:
		return ""
	case later.Status == rule.Fail.String() && t.Status != rule.Fail.String():
		return Worse
	case t.Least <= later.Most && later.Least <= t.Most:
		return Within
	}
	return Apart
}

// sheets compares the datasheets. Times differ if they are further apart than package datasheet tolerates.
func (d *Difference) sheets(a, b *Passport) {
	for _, name := range union(a.Sheet, b.Sheet, property) {
		x, y := find(a.Sheet, name, property), find(b.Sheet, name, property)
		if x == nil || y == nil {
			d.Sheet = changed(d.Sheet, name, Shown(x), Shown(y), "")
			continue
		}
		if x.Same(y) {
			continue
		}
		d.Sheet = changed(d.Sheet, name, x.Value, y.Value, spreads(x, y))
	}
}

// property returns the name of a row.
func property(f *Figure) string { return f.Name }

// Shown returns the value of a row; absent for nil.
func Shown(f *Figure) string {
	if f == nil {
		return absent
	}
	return f.Value
}

// spreads reports whether the spreads of two times overlap; "" when one is unknown.
func spreads(x, y *datasheet.Row) string {
	switch {
	case x.Spread == nil || y.Spread == nil:
		return ""
	case x.Spread[0] <= y.Spread[1] && y.Spread[0] <= x.Spread[1]:
		return Within
	}
	return Apart
}

func (c *Counter) name() string { return c.Name }

// String states in how many runs the counter agreed with the wire, or did not.
func (c *Counter) String() string {
	switch {
	case c == nil:
		return absent
	case c.Wrong > 0:
		return fmt.Sprintf("wrong in %d of %d", c.Wrong, c.Seen)
	}
	return fmt.Sprintf("as the wire in %d", c.Seen)
}

// judge judges a later counter: Worse, Better or "".
func (c *Counter) judge(later *Counter) string {
	switch {
	case c == nil || later == nil || (c.Wrong > 0) == (later.Wrong > 0):
		return ""
	case later.Wrong > 0:
		return Worse
	}
	return Better
}

// union lists the names of two lists, in the order of the first, and then those of the second alone.
func union[T any](a, b []T, name func(*T) string) (out []string) {
	for _, list := range [][]T{a, b} {
		for i := range list {
			if n := name(&list[i]); !slices.Contains(out, n) {
				out = append(out, n)
			}
		}
	}
	return out
}

// find returns the first of a list that has a name, nil when none has.
func find[T any](list []T, name string, of func(*T) string) *T {
	for i := range list {
		if of(&list[i]) == name {
			return &list[i]
		}
	}
	return nil
}
