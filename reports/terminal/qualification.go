package terminal

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/quantity"
	"github.com/rdma-gauntlet/gauntlet/perf/suite"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// Qualification writes the verdict with its reasons, the rules by family, and the targets.
func Qualification(w io.Writer, q *model.Qualification, o Options) error {
	p := &printer{color: o.Color}
	with := ""
	if q.Peer != q.Subject {
		with = " with " + plain(q.Peer)
	}
	fmt.Fprintf(p, "%s  %s%s for %s (%s) on %s\n", p.paint(bold+";"+tone(q.Status), q.Beside(q.Verdict())),
		plain(q.Subject), with, plain(q.Profile), plain(q.Title), plain(q.Bench))
	for _, r := range q.Reasons {
		fmt.Fprintf(p, "  %s\n", plain(r))
	}
	for _, command := range explained(q) {
		fmt.Fprintf(p, "  %s\n", p.paint(dim, plain(command)))
	}
	p.WriteString("\n")
	p.families(q)
	p.remaining(q)
	p.targets(q.Targets)
	p.evidence(q)
	return p.show(w)
}

// explained lists the commands that explain the findings, one for each rule.
func explained(q *model.Qualification) (commands []string) {
	for i := range q.Rules {
		if c := q.Rules[i].Explain; c != "" {
			commands = append(commands, c)
		}
	}
	return slices.Compact(commands) // a device has two roles
}

// families writes a line per family, with a column per status that occurs.
func (p *printer) families(q *model.Qualification) {
	var statuses, families []string
	for _, c := range q.Counts() {
		statuses = append(statuses, c.Name)
	}
	counts := map[[2]string]int{}
	for i := range q.Rules {
		family, _, _ := strings.Cut(q.Rules[i].Rule, "-")
		if !slices.Contains(families, family) {
			families = append(families, family)
		}
		counts[[2]string{family, q.Rules[i].Status}]++
	}
	t := table{left: 1}
	t.add(append(append([]string{"RULES"}, statuses...), "")...)
	for _, f := range families {
		row := []string{f}
		for _, s := range statuses {
			row = append(row, quantity.Count(int64(counts[[2]string{f, s}])))
		}
		t.add(append(row, "")...)
	}
	p.table(&t, func(row, _ int, s string) string {
		if row == 0 {
			return p.paint(bold, s)
		}
		return s
	})
}

// remaining lists the required rules that are INCONCLUSIVE. The reasons above name the other rules that did not pass.
func (p *printer) remaining(q *model.Qualification) {
	var open []string
	for i := range q.Rules {
		if r := &q.Rules[i]; r.Required && r.Status == rule.Inconclusive.String() {
			open = append(open, r.Rule)
		}
	}
	if len(open) > 0 {
		fmt.Fprintf(p, "\nnot exercised: %s\n", strings.Join(open, " "))
	}
}

// targets writes a line per number.
func (p *printer) targets(m *suite.Result) {
	if m == nil {
		return
	}
	t := table{left: 2}
	t.add("TARGET", "MEASURED", "BOUND", "VERDICT", "BOUND OF")
	var notes []string
	for i := range m.Claims {
		c := &m.Claims[i]
		if len(c.Measured) == 0 {
			notes = append(notes, c.ID+": "+c.Reason)
		}
		for k := range c.Measured {
			n := &c.Measured[k]
			value := "–" // the reasons explain it
			if n.Estimate != nil {
				value = quantity.Interval(n.Estimate.Value, n.Estimate.Low, n.Estimate.High, n.Unit)
			}
			t.add(plain(n.Title()), plain(value), quantity.Bounds(n.Low, n.High), n.Status, c.ID)
		}
	}
	p.WriteString("\n")
	if len(t.rows) > 1 {
		p.table(&t, func(row, column int, s string) string {
			switch {
			case row == 0:
				return p.paint(bold, s)
			case column == 3:
				return p.paint(tone(strings.TrimSpace(s)), s)
			}
			return s
		})
	}
	for _, n := range notes {
		fmt.Fprintf(p, "target of %s\n", plain(n))
	}
}

// evidence writes the evidence for the verdict, and its folder.
func (p *printer) evidence(q *model.Qualification) {
	valid, all := q.Certified()
	certified := "the links of the sim bench are exact by construction"
	if all > 0 {
		certified = fmt.Sprintf("%d link certificates, %d valid", all, valid)
	}
	fmt.Fprintf(p, "\n%s, %s", quantity.Plural(int64(len(q.Scenarios)), "scenario", "scenarios"), certified)
	for _, w := range q.Waivers {
		fmt.Fprintf(p, "\nwaiver %s for %s: %s, %s until %s: %s", plain(w.Rule), plain(w.Impl), w.Status,
			plain(w.Owner), w.Expires, plain(w.Reason))
	}
	fmt.Fprintf(p, "\nreport: %s/qualification.html\n", plain(q.Folder))
}
