package markdown

import (
	"bytes"
	"fmt"
	"io"

	"github.com/rdma-gauntlet/gauntlet/harness/quantity"
	"github.com/rdma-gauntlet/gauntlet/harness/quote"
	"github.com/rdma-gauntlet/gauntlet/perf/suite"
)

// Perf writes the papers' claims as a table, one line per number, with the reasons below.
func Perf(w io.Writer, m *suite.Result) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "### %s: %s, %s\n\n", escape(m.Status), quantity.Plural(int64(len(m.Claims)), "claim", "claims"),
		escape(quantity.Runs(m.Runs, m.RealRuns, m.Emulated)))
	b.WriteString("| claim | class | what | paper | model | Gauntlet | bound | verdict | paper's number " +
		"|\n|:--|:--|:--|--:|--:|--:|:--|:--|:--|\n")
	for i := range m.Claims {
		c := &m.Claims[i]
		for k := range c.Measured {
			claimRow(&b, c, &c.Measured[k])
		}
		if len(c.Measured) == 0 {
			fmt.Fprintf(&b, "| %s | %s | %s | | | | | %s | |\n", escape(c.ID), escape(c.Class),
				escape(c.Claim), escape(c.Status))
		}
	}
	b.WriteString("\n")
	if m.Emulated != "" {
		emulated(&b, m)
	}
	for i := range m.Claims {
		if c := &m.Claims[i]; c.Reason != "" {
			fmt.Fprintf(&b, "- **%s** (%s): %s. %s.\n", escape(c.ID), escape(c.Source),
				escape(c.Claim), escape(c.Reason))
		}
	}
	if m.Command != "" {
		fmt.Fprintf(&b, "\nRun it again:\n\n%s\n", fenced(m.Command))
	}
	_, err := io.WriteString(w, quote.Text(b.String()))
	return err
}

// claimRow is one number.
func claimRow(b *bytes.Buffer, c *suite.Claim, m *suite.Measured) {
	ours := m.Trouble
	if m.Estimate != nil {
		ours = quantity.Interval(m.Estimate.Value, m.Estimate.Low, m.Estimate.High, m.Unit)
	}
	fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", escape(c.ID), escape(m.Class), escape(m.Title()),
		number(m.Paper), number(m.Model), escape(ours),
		quantity.Bounds(m.Low, m.High), escape(m.Status), escape(m.Finding))
}

// emulated writes the table of the numbers that were also measured with real packets, beside those in virtual time.
func emulated(b *bytes.Buffer, m *suite.Result) {
	fmt.Fprintf(b, "| claim | what | paper | model | virtual time | %s | gap | K | packets/s | seconds |\n"+
		"|:--|:--|--:|--:|--:|--:|--:|--:|--:|--:|\n", escape(m.Emulated))
	for i := range m.Claims {
		for k := range m.Claims[i].Measured {
			x := &m.Claims[i].Measured[k]
			if !x.Emulated() {
				continue
			}
			what, virtual := x.Beside()
			real, gap, made := escape(x.RealTrouble), "–", "| | |"
			if x.Real != nil {
				real = escape(quantity.Interval(x.Real.Value, x.Real.Low, x.Real.High, x.Unit))
				gap = quantity.Percent(x.Gap.Value, x.Gap.Low, x.Gap.High)
				by := x.Carried()
				made = fmt.Sprintf("| %d | %.0f | %.0f |", by.Dilation, by.Rate, by.Wall)
			}
			fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | %s %s\n", escape(m.Claims[i].ID), escape(what),
				number(x.Paper), number(x.Model),
				escape(quantity.Interval(virtual.Value, virtual.Low, virtual.High, x.Unit)), real, gap, made)
		}
	}
	b.WriteString("\nK: seconds of the machine for a second of the Spec. Packets: of both ends, in a second of the " +
		"machine.\n\n")
	if m.LeftOut > 0 {
		fmt.Fprintf(b, "%d more would have taken longer than --budget.\n\n", m.LeftOut)
	}
}

// number is a value that may not be known.
func number(x *float64) string {
	if x == nil {
		return ""
	}
	return quantity.Value(*x, "")
}
