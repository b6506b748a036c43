package conform

import (
	"cmp"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules"
	"github.com/rdma-gauntlet/gauntlet/conformance/suite"
	"github.com/rdma-gauntlet/gauntlet/conformance/waivers"
)

// Table sums up outcomes in one line per rule: the worst status over all scenarios, by implementation.
type Table struct {
	Impls []string    // the columns: implementations, or the roles of a device
	Done  int         // outcomes so far
	Worst rule.Status // the greatest status of an outcome so far

	doubtful int // outcomes whose link was not as the Spec says, whatever their status

	cells   map[[2]string]*Cell // by rule and implementation
	bad     []*suite.Outcome    // outcomes that did not pass
	unfit   []*suite.Outcome    // outcomes of scenarios that need features that are not declared
	paint   bool                // in colours
	account *account            // of a device; nil for implementations
	again   func(impl, scenario string) string
}

// Cell is the result of a rule over all scenarios. A rule that at least one scenario exercised counts as exercised, so
// INCONCLUSIVE means that none did. A rule without a cell applied to no scenario.
type Cell struct {
	Status rule.Status
	Met    int      // number of times that its stimulus arose
	Total  int      // number of violations
	Passed []string // scenarios that exercised the rule and in which it held
	Broken []string // scenarios in which it did not hold
}

// Judged returns the number of scenarios that exercised the rule.
func (c *Cell) Judged() int { return len(c.Passed) + len(c.Broken) }

// Stands returns the status of a waiver of the rule: XFAIL when it excused a violation in a scenario that it covers,
// XPASS when the rule held although the deviation had to show, INCONCLUSIVE otherwise.
func (c *Cell) Stands(w *waivers.Waiver) rule.Status {
	covered := func(scenario string) bool { return len(waivers.In(scenario, []waivers.Waiver{*w})) > 0 }
	switch {
	case slices.ContainsFunc(c.Broken, covered):
		return rule.XFail
	case w.RefutedBy(c.Passed):
		return rule.XPass
	}
	return rule.Inconclusive
}

// note returns the number of scenarios that exercised the rule, and the names of those in which it was broken.
func (c *Cell) note() string {
	note := fmt.Sprint(c.Judged())
	if len(c.Broken) > 0 {
		note += ", broken in " + strings.Join(c.Broken, " ")
	}
	return note
}

// NewTable makes the table of some implementations. Again returns the command that repeats a scenario.
func NewTable(impls []string, paint bool, again func(impl, scenario string) string) *Table {
	return &Table{Impls: impls, cells: map[[2]string]*Cell{}, paint: paint, again: again}
}

// Cell returns the cell of a rule and an implementation; nil when the rule applied to no scenario.
func (t *Table) Cell(id, impl string) *Cell { return t.cells[[2]string{id, impl}] }

// Add counts one outcome.
func (t *Table) Add(o *suite.Outcome) {
	t.Done++
	if o.Doubtful() {
		t.doubtful++
	}
	if t.account != nil {
		t.account.add(o)
	}
	if o.Status == rule.NotApplicable {
		t.unfit = append(t.unfit, o)
		return
	}
	t.Worst = max(t.Worst, o.Status)
	if !o.Passed() {
		t.bad = append(t.bad, o)
	}
	for _, v := range o.Verdicts {
		if v.Status == rule.Inconclusive || v.Status == rule.NotApplicable {
			continue
		}
		c := t.applies(v.Rule, o.Impl)
		if o.Status == rule.Error || v.Status.Unproven() {
			continue // an unproven verdict counts neither for nor against a rule
		}
		if c.Judged() == 0 {
			c.Status = v.Status
		}
		c.Met, c.Total = c.Met+v.Met, c.Total+v.Total
		c.Status = max(c.Status, v.Status)
		if v.Status == rule.Pass {
			c.Passed = append(c.Passed, o.Scenario)
		} else {
			c.Broken = append(c.Broken, o.Scenario)
		}
	}
	for _, id := range o.Unseen {
		t.applies(id, o.Impl)
	}
}

// Expect sets to XPASS the waived rules that no scenario broke, though one should have: the waiver must be removed. The
// outcomes already show the violations that a waiver excused.
func (t *Table) Expect(known []waivers.Waiver, kernel, today string) {
	for key, c := range t.cells {
		device := waivers.Device{Names: []string{key[1]}, Kernel: kernel}
		refuted := func(w waivers.Waiver) bool {
			return waivers.Covering([]waivers.Waiver{w}, key[0], device) != nil && w.Expires >= today &&
				c.Stands(&w) == rule.XPass
		}
		if c.Status < rule.XPass && slices.ContainsFunc(known, refuted) {
			c.Status = rule.XPass
			t.Worst = max(t.Worst, rule.XPass)
		}
	}
}

// applies returns the cell of a rule that applies to an implementation, and makes it if it is new.
func (t *Table) applies(id, impl string) *Cell {
	key := [2]string{id, impl}
	c := t.cells[key]
	if c == nil {
		c = &Cell{Status: rule.Inconclusive}
		t.cells[key] = c
	}
	return c
}

// Print writes the outcomes that did not pass, the table, and one line of totals. Short leaves out rules that passed.
func (t *Table) Print(out io.Writer, short bool) error {
	for _, o := range t.bad {
		fmt.Fprintf(out, "%s\n  again: %s --out runs/again\n\n", o, t.again(o.Impl, o.Scenario))
	}
	if err := t.rows(out, short); err != nil {
		return err
	}
	unfit := ""
	if len(t.unfit) > 0 {
		unfit = fmt.Sprintf(", %d %s", len(t.unfit), t.painted(rule.NotApplicable))
		fmt.Fprintln(out)
	}
	for reason, names := range t.reasons() {
		fmt.Fprintf(out, "%s: %s\n", reason, strings.Join(names, " "))
	}
	doubt := ""
	if t.doubtful > 0 {
		doubt = fmt.Sprintf("; the links of %d were %s", t.doubtful, t.painted(rule.Invalid))
	}
	_, err := fmt.Fprintf(out, "\n%d scenarios, %d passed, %d did not%s: %s%s\n", t.Done,
		t.Done-len(t.bad)-len(t.unfit), len(t.bad), unfit, t.painted(t.Worst), doubt)
	return err
}

// rows writes the table itself, and below it the number of rules that are not in it, or that were not exercised.
func (t *Table) rows(out io.Writer, short bool) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "RULE\tLEVEL\t%s\tSCENARIOS\n", strings.Join(t.heads(), "\t"))
	if t.account != nil {
		n := t.account.print(w, t, short)
		err := w.Flush()
		fmt.Fprintf(out, "\n%s\n", n)
		t.account.printAdapters(w, t)
		err = cmp.Or(err, w.Flush())
		return err
	}
	foreign := 0
	for _, r := range rules.All() {
		if !t.row(w, &r, short) {
			foreign++
		}
	}
	err := w.Flush()
	if foreign > 0 {
		fmt.Fprintf(out, "\n%d rules are %s: they are about other systems, or about what the "+
			"scenarios did not ask for\n", foreign, t.painted(rule.NotApplicable))
	}
	return err
}

// reasons yields the reasons why scenarios were not applicable, sorted, each with the names of its scenarios.
func (t *Table) reasons() iter.Seq2[string, []string] {
	by := map[string][]string{}
	for _, o := range t.unfit {
		by[o.Reason] = append(by[o.Reason], o.Scenario)
	}
	return func(yield func(string, []string) bool) {
		for _, reason := range slices.Sorted(maps.Keys(by)) {
			if !yield(reason, by[reason]) {
				return
			}
		}
	}
}

// heads returns the titles of the columns of statuses. In colours they have escape codes of the same length as the
// statuses, because tabwriter aligns columns by bytes.
func (t *Table) heads() []string {
	heads := make([]string, len(t.Impls))
	for i, impl := range t.Impls {
		heads[i] = strings.ToUpper(impl)
		if t.paint {
			heads[i] = "\x1b[01m" + heads[i] + "\x1b[0m"
		}
	}
	return heads
}

// row writes the line of one rule, unless the rule applies to no implementation or short leaves it out. It reports
// whether the rule applies to one.
func (t *Table) row(w io.Writer, r *rule.Rule, short bool) bool {
	var states, notes []string
	plain, applies := true, false
	for _, impl := range t.Impls {
		c := t.Cell(r.ID, impl)
		if c == nil {
			c = &Cell{Status: rule.NotApplicable}
		}
		applies = applies || c.Status != rule.NotApplicable
		plain = plain && (c.Status == rule.Pass || c.Status == rule.NotApplicable)
		states = append(states, t.painted(c.Status))
		notes = append(notes, c.note())
	}
	if applies && !(short && plain) {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", r.ID, r.Level, strings.Join(states, "\t"), strings.Join(notes, "; "))
	}
	return applies
}

// painted colours a status for a terminal: green for PASS, red for XPASS and worse, yellow for the others.
func (t *Table) painted(s rule.Status) string {
	if !t.paint {
		return s.String()
	}
	color := 33
	switch {
	case s == rule.Pass:
		color = 32
	case s >= rule.XPass:
		color = 31
	}
	return fmt.Sprintf("\x1b[%dm%s\x1b[0m", color, s)
}
