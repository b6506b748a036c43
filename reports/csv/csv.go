// Package csv writes results as comma-separated values (RFC 4180), one line of names first, for spreadsheets and
// scripts. Numbers are in base units and printed in full; a missing value is an empty field.
package csv

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/quote"
	"github.com/rdma-gauntlet/gauntlet/perf/atlas"
	"github.com/rdma-gauntlet/gauntlet/perf/figures"
	"github.com/rdma-gauntlet/gauntlet/perf/stats"
)

// Atlas writes a line for each transport over each link.
func Atlas(w io.Writer, m *atlas.Map) error {
	rows := [][]string{{"rate_bps", "rtt_s", "loss", "burst_packets", "product_packets", "transport", "share_of_line",
		"share_low", "share_high", "seeds",
		"tied_for_best", "pick", "best_over_this", "best_over_this_low", "best_over_this_high", "trouble"}}
	for i := range m.Cells {
		c := &m.Cells[i]
		for k := range c.Entries {
			e := &c.Entries[k]
			row := []string{number(c.RateBps), number(float64(c.RTTNs) / 1e9), number(c.Loss), strconv.Itoa(c.Burst),
				strconv.Itoa(c.Product), e.Transport}
			row = append(row, estimate(&e.Share)...)
			row = append(row, strconv.Itoa(e.Share.N), strconv.FormatBool(e.Tied),
				strconv.FormatBool(e.Transport == c.Pick))
			rows = append(rows, append(append(row, estimate(e.Behind)...), e.Trouble))
		}
	}
	return write(w, rows)
}

// estimate is a value and its interval; empty when nothing was measured.
func estimate(e *stats.Estimate) []string {
	if e == nil || e.N == 0 {
		return []string{"", "", ""}
	}
	return []string{number(e.Value), number(e.Low), number(e.High)}
}

// write writes rows. A cell that a spreadsheet would take for a formula begins with an apostrophe, which most of them
// hide.
func write(w io.Writer, rows [][]string) error {
	for _, row := range rows {
		for i, cell := range row {
			row[i] = noFormula(cell)
		}
	}
	return csv.NewWriter(w).WriteAll(rows)
}

// noFormula returns a cell that is one printable line and no formula. Numbers may be negative.
func noFormula(cell string) string {
	if _, err := strconv.ParseFloat(cell, 64); err == nil {
		return cell
	}
	cell = quote.Line(cell, quote.Message)
	if cell != "" && strings.ContainsRune("=+-@＝＋－＠", []rune(cell)[0]) {
		return "'" + cell
	}
	return cell
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// Figure writes a line for each point of a figure: ours, the model where it is drawn, and the paper's.
func Figure(w io.Writer, f *figures.Figure) error {
	rows := [][]string{{"figure", "panel", "curve", "kind", "x_name", "x_unit", "x", "y_name", "y_unit", "y", "y_low",
		"y_high", "seeds", "trouble"}}
	for i := range f.Panels {
		p := &f.Panels[i]
		add := func(curve, kind string, x float64, rest ...string) {
			row := []string{f.ID, p.Title, curve, kind, p.X.Name, p.X.Unit, number(x), p.Y.Name, p.Y.Unit}
			rows = append(rows, append(row, rest...))
		}
		for k := range p.Curves {
			c := &p.Curves[k]
			for n := range c.Ours {
				o, seeds := &c.Ours[n], ""
				if o.Estimate != nil {
					seeds = strconv.Itoa(o.Estimate.N)
				}
				add(c.Name, "ours", o.X, append(estimate(o.Estimate), seeds, o.Trouble)...)
			}
			for _, xy := range c.Model {
				add(c.Name, "model", xy[0], number(xy[1]), "", "", "", "")
			}
			for _, xy := range c.Paper {
				add(c.Name, "paper", xy[0], number(xy[1]), "", "", "", "")
			}
		}
		for _, m := range p.Marks {
			row := []string{f.ID, p.Title, m.Text, "paper", p.X.Name, p.X.Unit, number(m.At), p.Y.Name, p.Y.Unit,
				"", "", "", "", ""}
			if m.Level {
				row[6], row[9] = row[9], row[6]
			}
			rows = append(rows, row)
		}
	}
	return write(w, rows)
}
