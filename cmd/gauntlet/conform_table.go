package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules"
	"github.com/rdma-gauntlet/gauntlet/conformance/suite"
)

// conformTable gathers outcomes into one line per rule: its worst status over all scenarios, by implementation.
type conformTable struct {
	impls []string
	cells map[[2]string]*conformCell // by rule and implementation
	bad   []*suite.Outcome           // those that did not pass
	done  int
	worst rule.Status
	paint bool
}

// conformCell is what all scenarios together say of a rule. A rule that one scenario did not exercise and another did is
// exercised, so INCONCLUSIVE stands only where nothing else does.
type conformCell struct {
	status rule.Status
	judged int // scenarios that exercised it
	broken []string
}

func newConformTable(impls []string, color string) *conformTable {
	return &conformTable{impls: impls, cells: map[[2]string]*conformCell{}, paint: colored(color, os.Stdout)}
}

// add takes one outcome in.
func (t *conformTable) add(o *suite.Outcome) {
	t.done++
	t.worst = max(t.worst, o.Status)
	if !o.Passed() {
		t.bad = append(t.bad, o)
	}
	for _, v := range o.Verdicts {
		if v.Status == rule.Inconclusive || v.Status == rule.NotApplicable {
			continue
		}
		c := t.cells[[2]string{v.Rule, o.Impl}]
		if c == nil {
			c = &conformCell{}
			t.cells[[2]string{v.Rule, o.Impl}] = c
		}
		c.judged++
		c.status = max(c.status, v.Status)
		if v.Status != rule.Pass {
			c.broken = append(c.broken, o.Scenario)
		}
	}
}

// print writes what failed, the table, and one line of totals.
func (t *conformTable) print(out io.Writer, short bool) error {
	for _, o := range t.bad {
		fmt.Fprintf(out, "%s\n  again: gauntlet conform --impl %s --bench %s --focus ' %s$' --out runs/again\n\n", o, o.Impl, o.Bench, o.Scenario)
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "RULE\tLEVEL\t%s\tSCENARIOS\n", strings.Join(t.heads(), "\t"))
	for _, r := range rules.All() {
		t.row(w, &r, short)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\n%d scenarios, %d passed, %d did not: %s\n", t.done, t.done-len(t.bad), len(t.bad), t.painted(t.worst))
	return err
}

// heads are the names of the columns of statuses. They bear colour codes as long as those of statuses, because the
// columns are aligned by their bytes.
func (t *conformTable) heads() []string {
	heads := make([]string, len(t.impls))
	for i, impl := range t.impls {
		heads[i] = strings.ToUpper(impl)
		if t.paint {
			heads[i] = "\x1b[01m" + heads[i] + "\x1b[0m"
		}
	}
	return heads
}

// row writes the line of one rule.
func (t *conformTable) row(w io.Writer, r *rule.Rule, short bool) {
	var states, notes []string
	plain := true
	for _, impl := range t.impls {
		c := t.cells[[2]string{r.ID, impl}]
		if c == nil {
			c = &conformCell{status: rule.Inconclusive}
		}
		plain = plain && c.status == rule.Pass
		states = append(states, t.painted(c.status))
		note := fmt.Sprint(c.judged)
		if len(c.broken) > 0 {
			note += ", broken in " + strings.Join(c.broken, " ")
		}
		notes = append(notes, note)
	}
	if !short || !plain {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", r.ID, r.Level, strings.Join(states, "\t"), strings.Join(notes, "; "))
	}
}

// painted colours a status on a terminal: green is good, red is bad, yellow is neither.
func (t *conformTable) painted(s rule.Status) string {
	if !t.paint {
		return s.String()
	}
	color := 33
	switch {
	case s == rule.Pass:
		color = 32
	case s >= rule.Fail:
		color = 31
	}
	return fmt.Sprintf("\x1b[%dm%s\x1b[0m", color, s)
}

// printSpecs lists specs with their labels.
func printSpecs(out io.Writer, specs []suite.Spec) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, s := range specs {
		fmt.Fprintf(w, "%s\t%s\t%s\n", s.Impl, s.Scenario, strings.Join(s.Labels, " "))
	}
	return w.Flush()
}
