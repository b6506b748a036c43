package markdown

import (
	"bytes"
	"fmt"
	"io"

	"github.com/rdma-gauntlet/gauntlet/reports/model"
	"github.com/rdma-gauntlet/gauntlet/reports/quantity"
)

// Perf writes the papers' claims as a table, one line per number, with the reasons below.
func Perf(w io.Writer, m *model.Perf) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "### %s: %s, %s\n\n", m.Status, quantity.Plural(int64(len(m.Claims)), "claim", "claims"), quantity.Plural(int64(m.Runs), "run", "runs"))
	b.WriteString("| claim | class | what | paper | model | Gauntlet | bound | verdict | paper's number |\n|:--|:--|:--|--:|--:|--:|:--|:--|:--|\n")
	for i := range m.Claims {
		c := &m.Claims[i]
		for k := range c.Measured {
			claimRow(&b, c, &c.Measured[k])
		}
		if len(c.Measured) == 0 {
			fmt.Fprintf(&b, "| %s | %s | %s | | | | | %s | |\n", c.ID, c.Class, escape(c.Claim), c.Status)
		}
	}
	b.WriteString("\n")
	for i := range m.Claims {
		if c := &m.Claims[i]; c.Reason != "" {
			fmt.Fprintf(&b, "- **%s** (%s): %s. %s.\n", c.ID, escape(c.Source), escape(c.Claim), escape(c.Reason))
		}
	}
	if m.Command != "" {
		fmt.Fprintf(&b, "\nRun it again:\n\n%s\n", fenced(m.Command))
	}
	_, err := w.Write(b.Bytes())
	return err
}

// claimRow is one number.
func claimRow(b *bytes.Buffer, c *model.Claim, m *model.Measured) {
	ours := m.Trouble
	if m.Estimate != nil {
		ours = quantity.Interval(m.Estimate.Value, m.Estimate.Low, m.Estimate.High, m.Unit)
	}
	number := func(x *float64) string {
		if x == nil {
			return ""
		}
		return quantity.Value(*x, "")
	}
	fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", c.ID, m.Class, escape(m.Title()), number(m.Paper), number(m.Model), escape(ours),
		quantity.Bounds(m.Low, m.High), m.Status, m.Finding)
}
