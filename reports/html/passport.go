package html

import (
	"fmt"
	"html/template"
	"io"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/quantity"
	"github.com/rdma-gauntlet/gauntlet/reports/passport"
)

// Passport writes the page of a passport, with the result of its check.
func Passport(w io.Writer, c *passport.Checked) error {
	v := &passportView{Passport: c.Passport, Checked: c, Policy: policy() + " 'none'",
		Style: template.CSS(asset("style.css")), Banner: banner(c)}
	v.Identity = slices.DeleteFunc(c.Passport.Identity(), func(row [2]string) bool { return row[1] == "" })
	return render(w, "passport.tmpl", v)
}

// Passports writes the page that compares many. Pages are the addresses of the page of each, from this one.
func Passports(w io.Writer, list []*passport.Checked, pages []string) error {
	v := &passportsView{Policy: policy() + " 'none'", Style: template.CSS(asset("style.css"))}
	for i, c := range list {
		v.Heads = append(v.Heads, passportHead{Checked: c, Label: c.Passport.Subject.Label(), Page: "./" + pages[i]})
	}
	v.Identity = beside(list, func(p *passport.Passport) [][2]string { return p.Identity() })
	v.Rules = beside(list, func(p *passport.Passport) (rows [][2]string) {
		for i := range p.Rules {
			rows = append(rows, [2]string{p.Rules[i].Name(), p.Rules[i].Status})
		}
		return rows
	})
	v.Targets = beside(list, func(p *passport.Passport) (rows [][2]string) {
		for i := range p.Targets {
			rows = append(rows, [2]string{p.Targets[i].Name, p.Targets[i].String()})
		}
		return rows
	})
	v.Sheet = beside(list, func(p *passport.Passport) (rows [][2]string) {
		for _, f := range p.Sheet {
			rows = append(rows, [2]string{f.Name, f.Value})
		}
		return rows
	})
	v.Counters = beside(list, func(p *passport.Passport) (rows [][2]string) {
		for i := range p.Counters {
			rows = append(rows, [2]string{p.Counters[i].Name, p.Counters[i].String()})
		}
		return rows
	})
	return render(w, "passports.tmpl", v)
}

// passportView is the data of the page of one passport.
type passportView struct {
	*passport.Passport
	Checked  *passport.Checked
	Policy   string
	Style    template.CSS
	Banner   string // class of the verdict
	Identity [][2]string
}

// Number is a target as a number with its interval, and the bound.
func (v *passportView) Number(t passport.Target) [2]string {
	return [2]string{t.String(), quantity.Bounds(t.Low, t.High)}
}

// Wire is the number of events on the wire that a counter counts.
func (v *passportView) Wire(c passport.Counter) string {
	switch {
	case c.High < 0:
		return fmt.Sprintf("%d or more", c.Low)
	case c.High == c.Low:
		return fmt.Sprint(c.Low)
	}
	return fmt.Sprintf("%d to %d", c.Low, c.High)
}

// banner is the CSS class for the result of a check.
func banner(c *passport.Checked) string {
	switch {
	case !c.So():
		return "fail"
	case c.Passport.Qualified && c.Evidence:
		return "pass"
	case c.Passport.Qualified:
		return "inconclusive"
	}
	return "fail"
}

// passportsView is the data of the page of many passports.
type passportsView struct {
	Policy                                    string
	Style                                     template.CSS
	Heads                                     []passportHead
	Identity, Rules, Targets, Sheet, Counters []besideRow
}

// passportHead is the head of a column.
type passportHead struct {
	*passport.Checked
	Label, Page string
}

// besideRow is a row of a table with a column for each passport.
type besideRow struct {
	Name  string
	Cells []string
	Same  bool // all passports agree
}

// beside joins the rows of the same name, in the order of the first passport that has them. Rows that differ come
// first.
func beside(list []*passport.Checked, of func(*passport.Passport) [][2]string) (rows []besideRow) {
	at := map[string]int{}
	for column, c := range list {
		for _, row := range of(c.Passport) {
			i, ok := at[row[0]]
			if !ok {
				i = len(rows)
				at[row[0]] = i
				rows = append(rows, besideRow{Name: row[0], Cells: make([]string, len(list))})
			}
			rows[i].Cells[column] = row[1]
		}
	}
	rows = slices.DeleteFunc(rows, func(r besideRow) bool { return slices.Max(r.Cells) == "" })
	for i := range rows {
		rows[i].Same = len(slices.Compact(slices.Clone(rows[i].Cells))) == 1
	}
	slices.SortStableFunc(rows, func(a, b besideRow) int { return boolOrder(a.Same, b.Same) })
	return rows
}
