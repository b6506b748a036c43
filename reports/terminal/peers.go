package terminal

import (
	"fmt"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// short are abbreviations of statuses for cells of peers, of which a line has many.
var short = map[string]string{rule.Pass.String(): "PASS", rule.Inconclusive.String(): "inc",
	rule.NotApplicable.String(): "n/a", rule.Fail.String(): "FAIL",
	rule.Invalid.String(): "INV", rule.Error.String(): "ERR"}

// peers writes a table for each link, with a line per requester and a numbered column per responder. Below are the
// reasons of the cells, each once with its pairs.
func (p *printer) peers(m *model.Matrix) {
	for _, l := range m.Links {
		t := table{left: 2}
		head := []string{"", "REQUESTER"}
		for i := range m.Peers {
			head = append(head, fmt.Sprintf("to %d", i+1))
		}
		t.add(append(head, "")...)
		for i, from := range m.Peers {
			row := []string{fmt.Sprint(i + 1), plain(from)}
			for _, to := range m.Peers {
				word := "–"
				if c := m.Met(from, to, l.Name); c != nil {
					word = short[c.Status]
				}
				row = append(row, word)
			}
			t.add(append(row, "")...)
		}
		if len(m.Links) > 1 {
			fmt.Fprintf(p, "over %s\n", plain(l.Name))
		}
		p.table(&t, func(row, column int, s string) string {
			switch {
			case row == 0:
				return p.paint(bold, s)
			case column > 1:
				return p.paint(shade(strings.TrimSpace(s)), s)
			}
			return s
		})
		p.meetings(m, l.Name)
	}
}

// shade returns the colour of a short status.
func shade(word string) string {
	for status, s := range short {
		if s == word {
			return tone(status)
		}
	}
	return ""
}

// meetings groups the cells of a link by their remarks.
func (p *printer) meetings(m *model.Matrix, link string) {
	var order []string
	pairs := map[string][]string{}
	for i := range m.Cells {
		c := &m.Cells[i]
		note := remark(c)
		if c.Link != link || note == "" {
			continue
		}
		if pairs[note] == nil {
			order = append(order, note)
		}
		pairs[note] = append(pairs[note], c.Impl)
	}
	for _, note := range order {
		status, _, _ := strings.Cut(note, ":")
		fmt.Fprintf(p, "\n%s%s\n", p.paint(bold+";"+tone(status), status), plain(strings.TrimPrefix(note, status)))
		fmt.Fprintf(p, "    %s\n", plain(strings.Join(pairs[note], " ")))
	}
}

// remark returns the remark about a cell; "" when it passed.
func remark(c *model.Cell) string {
	if c.Status == rule.Pass.String() {
		return ""
	}
	var broken string
	if c.Status == rule.Fail.String() {
		broken = strings.Join(c.Broken, " ")
	}
	return c.Status + ": " + strings.TrimSpace(broken+" "+c.Reason+" "+c.Note(c.Status))
}
