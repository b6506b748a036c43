package terminal

import (
	"fmt"
	"io"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/quantity"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// columns is the width of tables.
const columns = 100

// Matrix writes a matrix: the table, the failures, and the broken engines.
func Matrix(w io.Writer, m *model.Matrix, o Options) error {
	p := &printer{color: o.Color}
	fmt.Fprintf(p, "%s  %s on %s, seed %d\n\n", p.paint(bold+";"+tone(m.Status), m.Status), m.Size(),
		plain(m.Bench), m.Seed)
	if len(m.Peers) > 0 {
		p.peers(m)
	} else {
		p.cells(m)
		p.troubles(m)
	}
	p.kills(m)
	if m.Folder != "" {
		fmt.Fprintf(p, "\nruns and reports: %s\n", plain(m.Folder))
	}
	return p.show(w)
}

// cells writes the table, a line per implementation and link, with a blank line between implementations.
func (p *printer) cells(m *model.Matrix) {
	t := table{left: 3}
	t.add("IMPL", "LINK", "VERDICT", "GOODPUT", "RESENT", "FCT p50", "FCT p99", "TIMEOUTS", "NOTES")
	for i := range m.Cells {
		c := &m.Cells[i]
		if i > 0 && c.Impl != m.Cells[i-1].Impl {
			t.add()
		}
		t.add(cellRow(c)...)
	}
	p.table(&t, func(row, column int, s string) string {
		switch {
		case row == 0:
			return p.paint(bold, s)
		case column == 2:
			return p.paint(tone(strings.TrimSpace(s)), s)
		}
		return s
	})
}

// cellRow returns one line of the table.
func cellRow(c *model.Cell) []string {
	fct := func(ns int64) string {
		if c.FCT.Count == 0 {
			return "–"
		}
		return quantity.Duration(ns)
	}
	notes := strings.Join(c.Broken, " ")
	if len(c.Broken) == 0 && len(c.Warnings) > 0 {
		notes = c.Warnings[0]
	}
	if len(c.Broken) > 1 {
		notes = fmt.Sprintf("%s and %d more", c.Broken[0], len(c.Broken)-1)
	}
	if c.Attempts > 1 {
		notes = strings.TrimSpace(fmt.Sprintf("%s (attempt %d)", notes, c.Attempts))
	}
	return []string{plain(c.Impl), plain(c.Link), c.Status, quantity.Rate(c.GoodputBps),
		quantity.ShareOf(c.Retransmitted, c.DataPackets),
		fct(c.FCT.P50), fct(c.FCT.P99), quantity.Count(c.Timeouts), plain(notes)}
}

// troubles writes, for every cell that did not pass, the reason and the command that repeats it, and warnings of other
// cells.
func (p *printer) troubles(m *model.Matrix) {
	for i := range m.Cells {
		c := &m.Cells[i]
		if c.Status == "PASS" && len(c.Warnings) == 0 {
			continue
		}
		fmt.Fprintf(p, "\n%s %s over %s", p.paint(bold+";"+tone(c.Status), c.Status), plain(c.Impl), plain(c.Link))
		for _, why := range []string{c.Reason, c.Note(c.Status)} {
			if why != "" {
				fmt.Fprintf(p, ": %s", plain(why))
			}
		}
		p.WriteString("\n")
		if text := c.Requests(); text != "" {
			fmt.Fprintf(p, "    %s\n", plain(text))
		}
		if len(c.Broken) > 0 {
			fmt.Fprintf(p, "    broken: %s\n", plain(strings.Join(c.Broken, " ")))
		}
		for _, w := range c.Warnings {
			fmt.Fprintf(p, "    beware: %s\n", plain(w))
		}
		if c.Folder != "" {
			fmt.Fprintf(p, "    judge:  gauntlet judge %s\n    again:  %s\n", plain(c.Folder), plain(c.Again))
		}
	}
}

// kills writes a line per broken engine, with those that were not caught last, where they are most visible.
func (p *printer) kills(m *model.Matrix) {
	if len(m.Kills) == 0 {
		return
	}
	t := table{left: 4}
	t.add("BROKEN", "ENGINE", "VERDICT", "CAUGHT BY")
	for _, killed := range []bool{true, false} {
		for i := range m.Kills {
			if k := &m.Kills[i]; k.Killed() == killed {
				t.add(killRow(k)...)
			}
		}
	}
	p.WriteString("\n")
	p.table(&t, func(row, column int, s string) string {
		status := strings.TrimSpace(s)
		switch {
		case row == 0:
			return p.paint(bold, s)
		case column == 2 && status == "FAIL": // expected
			return p.paint(green, s)
		case column == 2:
			return p.paint(red, s)
		}
		return s
	})
	fmt.Fprintf(p, "\n%d broken engines: %d killed, %d not caught\n", len(m.Kills),
		len(m.Kills)-m.Survivors(), m.Survivors())
}

func killRow(k *model.Kill) []string {
	by := strings.Join(k.Caught, " ")
	if len(k.Missed) > 0 {
		by = strings.TrimSpace(fmt.Sprintf("%s not caught by %s %s", by, strings.Join(k.Missed, " "), k.Reason))
	}
	return []string{plain(k.Family), plain(k.Name), k.Status, plain(by)}
}

// table is rows of cells. The first left columns and the last are aligned left, the others right. A row without cells
// is a blank line.
type table struct {
	left int
	rows [][]string
}

func (t *table) add(cells ...string) {
	for i, s := range cells {
		cells[i] = plain(s)
	}
	t.rows = append(t.rows, cells)
}

// widths returns the widths of the columns. The last column has the remaining width.
func (t *table) widths() []int {
	var w []int
	for _, row := range t.rows {
		for i, s := range row {
			if i == len(w) {
				w = append(w, 0)
			}
			w[i] = max(w[i], width(s))
		}
	}
	used := 0
	for _, n := range w[:len(w)-1] {
		used += n + 2
	}
	w[len(w)-1] = max(min(w[len(w)-1], columns-used), 12)
	return w
}

// table writes t; paint colours a cell that is padded already.
func (p *printer) table(t *table, paint func(row, column int, s string) string) {
	w := t.widths()
	for r, row := range t.rows {
		for i, s := range row {
			s = cut(s, w[i])
			switch {
			case i == len(w)-1:
			case i < t.left:
				s = pad(s, w[i])
			default:
				s = lead(s, w[i])
			}
			row[i] = paint(r, i, s)
		}
		p.WriteString(strings.TrimRight(strings.Join(row, "  "), " ") + "\n")
	}
}

// cut shortens s to n columns.
func cut(s string, n int) string {
	if width(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}
