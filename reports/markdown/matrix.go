package markdown

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/quantity"
	"github.com/rdma-gauntlet/gauntlet/harness/quote"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// Matrix writes a matrix as a table of goodput and verdicts, an implementation per row and a link per column, and the
// cells in full behind a fold.
func Matrix(w io.Writer, m *model.Matrix) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "### %s: %s on %s, seed %d\n\n", escape(m.Status), m.Size(), escape(m.Bench), m.Seed)
	if len(m.Peers) > 0 {
		peers(&b, m)
	} else {
		overview(&b, m)
	}
	troubles(&b, m)
	allCells(&b, m)
	hunted(&b, m)
	if m.Command != "" {
		fmt.Fprintf(&b, "Run it again:\n\n%s\n", fenced(m.Command))
	}
	_, err := io.WriteString(w, quote.Text(b.String()))
	return err
}

// overview is the table: goodput, and the verdict where it is not PASS.
func overview(b *bytes.Buffer, m *model.Matrix) {
	b.WriteString("| goodput |")
	for _, l := range m.Links {
		fmt.Fprintf(b, " %s |", escape(l.Name))
	}
	b.WriteString("\n|:--|" + strings.Repeat("--:|", len(m.Links)) + "\n")
	for _, impl := range m.Impls {
		fmt.Fprintf(b, "| %s |", code(impl))
		for _, l := range m.Links {
			text := "–"
			switch c := m.Cell(impl, l.Name); {
			case c == nil:
			case c.Status == "PASS":
				text = quantity.Rate(c.GoodputBps)
			default:
				text = fmt.Sprintf("**%s** %s", escape(c.Status), quantity.Rate(c.GoodputBps))
			}
			fmt.Fprintf(b, " %s |", text)
		}
		b.WriteString("\n")
	}
	b.WriteString("\n")
}

// peers writes a table for each link: the outcome of each requester with each responder.
func peers(b *bytes.Buffer, m *model.Matrix) {
	for _, l := range m.Links {
		fmt.Fprintf(b, "| over %s: requester, with responder |", escape(l.Name))
		for _, to := range m.Peers {
			fmt.Fprintf(b, " %s |", code(to))
		}
		b.WriteString("\n|:--|" + strings.Repeat(":--|", len(m.Peers)) + "\n")
		for _, from := range m.Peers {
			fmt.Fprintf(b, "| %s |", code(from))
			for _, to := range m.Peers {
				text := "–"
				if c := m.Met(from, to, l.Name); c != nil {
					text = strings.TrimSpace(c.Status + " " + strings.Join(c.Broken, " "))
				}
				fmt.Fprintf(b, " %s |", escape(text))
			}
			b.WriteString("\n")
		}
		b.WriteString("\n")
	}
}

// troubles lists the cells that did not pass.
func troubles(b *bytes.Buffer, m *model.Matrix) {
	shown, left := 0, 0
	for i := range m.Cells {
		c := &m.Cells[i]
		switch {
		case c.Status == "PASS":
			continue
		case shown == failuresShown:
			left++
			continue
		}
		shown++
		fmt.Fprintf(b, "- **%s** %s over %s", escape(c.Status), code(c.Impl), escape(c.Link))
		for _, why := range []string{c.Reason, c.Note(c.Status)} {
			if why != "" {
				fmt.Fprintf(b, ": %s", escape(why))
			}
		}
		if text := c.Requests(); text != "" {
			fmt.Fprintf(b, "; %s", escape(text))
		}
		if len(c.Broken) > 0 {
			fmt.Fprintf(b, ": %s", code(strings.Join(c.Broken, " ")))
		}
		b.WriteString("\n")
	}
	if left > 0 {
		fmt.Fprintf(b, "- and %d more\n", left)
	}
	if shown > 0 {
		b.WriteString("\n")
	}
}

// allCells is every number, folded.
func allCells(b *bytes.Buffer, m *model.Matrix) {
	b.WriteString("<details><summary>all numbers</summary>\n\n| implementation | link | verdict | goodput | " +
		"retransmitted | FCT p50 | FCT p99 | timeouts | attempts |\n|:--|:--|:--|--:|--:|--:|--:|--:|--:|\n")
	for i := range m.Cells {
		c := &m.Cells[i]
		p50, p99 := "–", "–"
		if c.FCT.Count > 0 {
			p50, p99 = quantity.Duration(c.FCT.P50), quantity.Duration(c.FCT.P99)
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | %s | %s | %d |\n", code(c.Impl), escape(c.Link),
			escape(c.Status), quantity.Rate(c.GoodputBps),
			quantity.ShareOf(c.Retransmitted, c.DataPackets), p50, p99, quantity.Count(c.Timeouts), c.Attempts)
	}
	b.WriteString("\n</details>\n\n")
}

// hunted counts the broken engines and lists those that were not caught.
func hunted(b *bytes.Buffer, m *model.Matrix) {
	if len(m.Kills) == 0 {
		return
	}
	fmt.Fprintf(b, "Broken engines: %d, %d not caught.\n\n", len(m.Kills), m.Survivors())
	for i := range m.Kills {
		if k := &m.Kills[i]; !k.Killed() {
			fmt.Fprintf(b, "- **%s** %s %s: %s. Not caught by %s", escape(k.Status), escape(k.Family), code(k.Name),
				escape(k.Breaks), code(strings.Join(k.Missed, " ")))
			if k.Reason != "" {
				fmt.Fprintf(b, ": %s", escape(k.Reason))
			}
			b.WriteString("\n")
		}
	}
	if m.Survivors() > 0 {
		b.WriteString("\n")
	}
}
