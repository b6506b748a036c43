package site

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/perf/history"
)

// sparkNights is how many nights a sparkline has.
const sparkNights = 45

// grid is the page of all series: those of a matrix by implementation and link, the others one below the other.
type grid struct {
	head
	Tables []*table
	Lists  []*table
	Left   int // series without a page
}

// table is one quantity by implementation and link, or a list of series of which each is a row.
type table struct {
	Name  string
	Links []string
	Rows  []gridRow
}

type gridRow struct {
	Name  string
	Cells []cell
}

// cell is the newest point of a series.
type cell struct {
	Page, Value, Status, Spark, Says string
	Mark                             *mark // the newest change
	Badge                            bool  // it is a verdict, or a gap
}

func newGrid(p *past) *grid {
	v := &grid{head: p.head("All series"), Left: len(p.tracks) - len(p.shown())}
	tables, lists := map[string]*table{}, map[string]*table{}
	for i := range p.shown() {
		t := &p.tracks[i]
		words := strings.SplitN(t.Name, " ", 4)
		if words[0] == "matrix" && len(words) == 4 {
			name := named(strings.TrimSuffix(words[3], " "+t.Unit)+", "+t.Bench, t.Host) // values have their units
			if tables[name] == nil {
				tables[name] = &table{Name: name}
				v.Tables = append(v.Tables, tables[name])
			}
			tables[name].put(words[1], words[2], p.cell(t))
			continue
		}
		name := words[0]
		if lists[name] == nil {
			lists[name] = &table{Name: name}
			v.Lists = append(v.Lists, lists[name])
		}
		lists[name].Rows = append(lists[name].Rows, gridRow{named(t.Name, t.Host), []cell{p.cell(t)}})
	}
	order := func(x *table) string { // verdicts first
		if strings.HasPrefix(x.Name, "verdict") {
			return ""
		}
		return x.Name
	}
	slices.SortStableFunc(v.Tables, func(a, b *table) int { return strings.Compare(order(a), order(b)) })
	return v
}

// put sets the cell of an implementation and a link; rows are as long as the table is wide.
func (t *table) put(impl, link string, c cell) {
	k := slices.Index(t.Links, link)
	if k < 0 {
		k, t.Links = len(t.Links), append(t.Links, link)
		for i := range t.Rows {
			t.Rows[i].Cells = append(t.Rows[i].Cells, cell{})
		}
	}
	i := slices.IndexFunc(t.Rows, func(r gridRow) bool { return r.Name == impl })
	if i < 0 {
		i, t.Rows = len(t.Rows), append(t.Rows, gridRow{impl, make([]cell, len(t.Links))})
	}
	t.Rows[i].Cells[k] = c
}

func (p *past) cell(t *history.Track) cell {
	c := cell{Page: seriesPage(&t.Series, t.Host)}
	e := t.Last()
	if c.Value = text(e); e.Gap() || e.Word != "" {
		c.Badge, c.Status = true, slug(c.Value)
	}
	if m := p.marks[c.Page]; len(m) > 0 {
		c.Mark = &m[0]
	}
	entries := t.Entries[max(0, len(t.Entries)-sparkNights):]
	c.Spark = spark(entries)
	c.Says = fmt.Sprintf("%d nights to %s", len(entries), e.Night)
	return c
}

// spark is the path of a line of 90 by 20 pixels, broken at gaps and where a segment begins, as values on both sides of
// that are not compared.
func spark(entries []history.Entry) string {
	low, high := math.Inf(1), math.Inf(-1)
	for i := range entries {
		if v := of(&entries[i]); !math.IsNaN(v) {
			low, high = min(low, v), max(high, v)
		}
	}
	tall := max(high-low, math.Abs(high)*0.02, 1e-9)
	var b strings.Builder
	verb, last := "M", ""
	for i := range entries {
		v := of(&entries[i])
		if math.IsNaN(v) {
			verb = "M"
			continue
		}
		segment := entries[i].Segment()
		if segment != last {
			verb, last = "M", segment
		}
		x := 2 + 86*float64(i)/float64(max(len(entries)-1, 1))
		fmt.Fprintf(&b, "%s%.0f %.0f", verb, x, 18-16*(v-low)/tall)
		verb = "L"
	}
	return b.String()
}
