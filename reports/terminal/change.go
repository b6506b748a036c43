package terminal

import (
	"fmt"
	"io"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/quantity"
	"github.com/rdma-gauntlet/gauntlet/perf/stats"
	"github.com/rdma-gauntlet/gauntlet/perf/suite"
)

// Changes writes a comparison: a line for each number that differs, and the count of the others.
func Changes(w io.Writer, c *suite.Changes, o Options) error {
	p := &printer{color: o.Color}
	fmt.Fprintf(p, "%s → %s: %s\n\n", plain(c.Old), plain(c.New),
		quantity.Plural(int64(len(c.Numbers)), "number", "numbers"))
	t := table{left: 2}
	t.add("CLAIM", "DECISION", "OLD", "NEW", "CHANGE", "WHAT")
	for i := range c.Numbers {
		if n := &c.Numbers[i]; n.Decision != stats.Same {
			t.add(changeRow(n)...)
		}
	}
	if len(t.rows) > 1 {
		p.table(&t, func(row, column int, s string) string {
			switch {
			case row == 0:
				return p.paint(bold, s)
			case column == 1:
				return p.paint(decided[stats.Decision(strings.TrimSpace(s))], s)
			}
			return s
		})
		p.WriteString("\n")
	}
	fmt.Fprintf(p, "%d improved, %d same, %d regressed, %d inconclusive\n", c.Count(stats.Improved),
		c.Count(stats.Same), c.Count(stats.Regressed), c.Count(stats.Inconclusive))
	fmt.Fprintf(p, "same: within %s; by chance alone at most %s would not be\n", quantity.Share(c.Margin),
		quantity.Value(c.FalseAlarms(), "numbers"))
	return p.show(w)
}

// decided are the colours of the decisions.
var decided = map[stats.Decision]string{stats.Improved: green, stats.Regressed: red, stats.Inconclusive: dim}

func changeRow(n *suite.Change) []string {
	by, what := "–", n.Title
	if n.Relative != nil {
		by = quantity.Percent(n.Relative.Value, n.Relative.Low, n.Relative.High)
	}
	if n.Reason != "" {
		what += ": " + n.Reason
	}
	return []string{n.ID, string(n.Decision), quantity.Value(n.Old, ""), quantity.Value(n.New, n.Unit), by, plain(what)}
}
