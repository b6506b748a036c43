package terminal

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/quantity"
	"github.com/rdma-gauntlet/gauntlet/perf/suite"
)

// Perf writes the papers' claims: a table with a line per number, then the reasons why numbers of papers are not
// reproduced, and the failures.
func Perf(w io.Writer, m *suite.Result, o Options) error {
	p := &printer{color: o.Color}
	fmt.Fprintf(p, "%s  %s, %s, %.0f %% intervals\n\n", p.paint(bold+";"+tone(m.Status), m.Status),
		quantity.Plural(int64(len(m.Claims)), "claim", "claims"), quantity.Runs(m.Runs, m.RealRuns, m.Emulated),
		100*m.Confidence)
	p.claims(m)
	if m.Emulated != "" {
		p.emulated(m)
	}
	p.reasons(m)
	fmt.Fprintf(p, "\n%d PASS, %d FAIL, %d INCONCLUSIVE, %d ERROR, %d REPORTED%s\n", m.Count(suite.Holds),
		m.Count(suite.Broken), m.Count(suite.Open), m.Count(suite.Unknown), m.Count(suite.Reported),
		lasted(time.Duration(m.Wall*float64(time.Second)).Round(time.Second).String(), m.Wall))
	return p.show(w)
}

// claims writes the table of the claims.
func (p *printer) claims(m *suite.Result) {
	t := table{left: 3}
	t.add("CLAIM", "CLASS", "VERDICT", "PAPER", "MODEL", "GAUNTLET", "WHAT")
	for i := range m.Claims {
		for k := range m.Claims[i].Measured {
			t.add(measuredRow(&m.Claims[i], &m.Claims[i].Measured[k])...)
		}
	}
	p.judged(&t, 2)
}

// judged writes a table with a bold headline, and colours one column, which has verdicts.
func (p *printer) judged(t *table, at int) {
	p.table(t, func(row, column int, s string) string {
		switch {
		case row == 0:
			return p.paint(bold, s)
		case column == at:
			return p.paint(tone(strings.TrimSpace(s)), s)
		}
		return s
	})
}

// emulated writes the numbers that were measured with real packets too, beside virtual time.
func (p *printer) emulated(m *suite.Result) {
	p.WriteString("\n")
	t := table{left: 2}
	t.add("CLAIM", "VERDICT", "PAPER", "MODEL", "VIRTUAL TIME", strings.ToUpper(m.Emulated), "GAP", "K", "WHAT")
	for i := range m.Claims {
		for k := range m.Claims[i].Measured {
			x := &m.Claims[i].Measured[k]
			if !x.Emulated() {
				continue
			}
			what, virtual := x.Beside()
			real, gap, k := "–", "–", "–" // the reason is below
			if x.Real != nil {
				real = quantity.Interval(x.Real.Value, x.Real.Low, x.Real.High, x.Unit)
				gap = quantity.Percent(x.Gap.Value, x.Gap.Low, x.Gap.High)
				k = fmt.Sprint(x.Carried().Dilation)
			}
			t.add(m.Claims[i].ID, x.Status, orDash(x.Paper), orDash(x.Model), quantity.Interval(virtual.Value,
				virtual.Low, virtual.High, x.Unit), real, gap, k, plain(what))
		}
	}
	p.judged(&t, 1)
	if m.LeftOut > 0 {
		fmt.Fprintf(p, "%s there would have taken longer than --budget\n", quantity.Plural(int64(m.LeftOut),
			"more number", "more numbers"))
	}
}

// measuredRow returns one line of the table.
func measuredRow(c *suite.Claim, m *suite.Measured) []string {
	ours := "–"
	if m.Estimate != nil {
		ours = quantity.Interval(m.Estimate.Value, m.Estimate.Low, m.Estimate.High, m.Unit)
	}
	paper := orDash(m.Paper)
	if m.Finding == suite.NotReproduced {
		paper += " ✗"
	} else if m.Finding != "" {
		paper += " ✓"
	}
	return []string{c.ID, m.Class, m.Status, paper, orDash(m.Model), ours, plain(m.Title())}
}

func orDash(x *float64) string {
	if x == nil {
		return "–"
	}
	return quantity.Value(*x, "")
}

// reasons writes the reasons of claims whose numbers are not reproduced, are not checked, or broke.
func (p *printer) reasons(m *suite.Result) {
	for i := range m.Claims {
		c := &m.Claims[i]
		quiet := c.Status == suite.Holds && c.Finding != suite.NotReproduced || c.Status == suite.Reported &&
			len(c.Measured) == 0
		if quiet {
			continue
		}
		head := c.Status
		if c.Finding != "" {
			head += ", " + c.Finding
		}
		fmt.Fprintf(p, "\n%s %s  %s\n    claim:  %s\n", p.paint(bold+";"+tone(c.Status), c.ID), head,
			plain(c.Source), plain(c.Claim))
		if c.Reason != "" {
			fmt.Fprintf(p, "    why:    %s\n", plain(c.Reason))
		}
		for k := range c.Measured {
			p.broken(&c.Measured[k])
		}
	}
}

// broken writes the bound of a number that was outside it.
func (p *printer) broken(m *suite.Measured) {
	switch m.Status {
	case suite.Unknown:
		fmt.Fprintf(p, "    error:  %s: %s\n", plain(m.Title()), plain(m.Trouble))
	case suite.Broken, suite.Open:
		fmt.Fprintf(p, "    bound:  %s: %s, want %s\n", plain(m.Title()),
			quantity.Interval(m.Estimate.Value, m.Estimate.Low, m.Estimate.High, m.Unit),
			quantity.Bounds(m.Low, m.High))
		if m.Real != nil {
			fmt.Fprintf(p, "            with real packets: %s\n",
				quantity.Interval(m.Real.Value, m.Real.Low, m.Real.High, m.Unit))
		}
	}
}
