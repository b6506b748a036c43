package html

import (
	"fmt"
	"html/template"
	"io"
	"path/filepath"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/quantity"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// Matrix writes the page of a matrix: pictures, the table of all cells, and the broken engines. The page lies in dir,
// from where it links to the reports of the cells.
func Matrix(w io.Writer, m *model.Matrix, dir string) error {
	return render(w, "matrix.tmpl", newMatrixView(m, dir))
}

// matrixView is the data of the page.
type matrixView struct {
	*model.Matrix
	Policy  string
	Style   template.CSS
	Title   string
	Counts  []model.Fact
	Figures []figure
	Rows    []cellRow
	Meets   []meeting
	Escaped int // broken engines that were not caught
}

// meeting is a table of peers: the cells of all pairs over a link.
type meeting struct {
	Link string
	Rows []meetingRow
}

// meetingRow is a requester with every responder.
type meetingRow struct {
	Requester string
	Cells     []cellRow
}

// figure is one quantity over all cells.
type figure struct {
	Name, Caption string
	Drawing       template.HTML
}

// cellRow is one line of the table.
type cellRow struct {
	*model.Cell
	Goodput, Share, Resent, P50, P99 string
	Report                           string // from the page; "" when there is none
}

func newMatrixView(m *model.Matrix, dir string) *matrixView {
	v := &matrixView{Matrix: m, Policy: policy() + " 'none'", Style: template.CSS(asset("style.css")),
		Escaped: m.Survivors()}
	v.Title = m.Size() + " on " + m.Bench
	v.Counts = statuses(m)
	for i := range m.Cells {
		v.Rows = append(v.Rows, newCellRow(&m.Cells[i], dir))
	}
	for _, l := range m.Links {
		if len(m.Peers) > 0 {
			v.Meets = append(v.Meets, newMeeting(m, l.Name, dir))
		}
	}
	for i, q := range quantities {
		if len(m.Peers) > 0 {
			break // a bar for each pair shows nothing
		}
		v.Figures = append(v.Figures, figure{q.name, q.caption, drawBars(m, fmt.Sprint("m", i), &q)})
	}
	return v
}

func newMeeting(m *model.Matrix, link, dir string) meeting {
	t := meeting{Link: link}
	for _, from := range m.Peers {
		r := meetingRow{Requester: from}
		for _, to := range m.Peers {
			c := m.Met(from, to, link)
			if c == nil {
				c = &model.Cell{Status: "ERROR", Reason: "not run"}
			}
			r.Cells = append(r.Cells, newCellRow(c, dir))
		}
		t.Rows = append(t.Rows, r)
	}
	return t
}

// statuses counts the cells by status, in the order in which they first occur.
func statuses(m *model.Matrix) (out []model.Fact) {
	n := map[string]int{}
	for i := range m.Cells {
		n[m.Cells[i].Status]++
	}
	for i := range m.Cells {
		if s := m.Cells[i].Status; n[s] > 0 {
			out = append(out, model.Fact{Name: s, Value: fmt.Sprint(n[s])})
			n[s] = 0
		}
	}
	return out
}

func newCellRow(c *model.Cell, dir string) cellRow {
	r := cellRow{Cell: c, Goodput: quantity.Rate(c.GoodputBps),
		Resent: quantity.ShareOf(c.Retransmitted, c.DataPackets),
		P50:    orNone(c.FCT.Count, c.FCT.P50), P99: orNone(c.FCT.Count, c.FCT.P99), Share: "–"}
	if c.Utilisation > 0 {
		r.Share = quantity.Share(c.Utilisation)
	}
	if c.Folder != "" {
		if rel, err := filepath.Rel(dir, filepath.Join(c.Folder, "report.html")); err == nil {
			r.Report = "./" + filepath.ToSlash(rel)
		}
	}
	return r
}

// measure is a number of a cell that is drawn.
type measure struct {
	name, caption string
	of            func(c *model.Cell) (value float64, text string)
}

var quantities = []measure{
	{"Goodput", "Payload delivered once, per second. Longer is better.",
		func(c *model.Cell) (float64, string) { return c.GoodputBps, quantity.Rate(c.GoodputBps) }},
	{"Flow completion time, 99th percentile",
		"From the first packet of a message to its completion. Shorter is better.",
		func(c *model.Cell) (float64, string) { return float64(c.FCT.P99), orNone(c.FCT.Count, c.FCT.P99) }},
	{"Retransmitted", "Share of the data packets that were sent again. Shorter is better.",
		func(c *model.Cell) (float64, string) {
			return float64(c.Retransmitted) / float64(max(c.DataPackets, 1)),
				quantity.ShareOf(c.Retransmitted, c.DataPackets)
		}},
}

// The measures of the drawing in pixels: a panel per link, a row per implementation.
const (
	nameWide  = 132.0
	pageWide  = 960.0
	panelWide = 118.0 // least
	headTall  = 30.0
	rowTall   = 38.0
	barTall   = 12.0
)

// drawBars draws one quantity: small multiples of bars with one scale.
func drawBars(m *model.Matrix, id string, q *measure) template.HTML {
	panel := max(panelWide, (pageWide-nameWide)/float64(max(len(m.Links), 1)))
	c := newCanvas(id, "bars", nameWide+panel*float64(len(m.Links)), headTall+rowTall*float64(len(m.Impls)),
		q.name+" by implementation and link", describeBars(m, q))
	most := 0.0
	for i := range m.Cells {
		v, _ := q.of(&m.Cells[i])
		most = max(most, v)
	}
	for i, impl := range m.Impls {
		y := headTall + rowTall*float64(i)
		c.line("grid", 0, y, c.width, y)
		c.text("strong", "start", 0, y+23, impl)
	}
	for k, l := range m.Links {
		x := nameWide + panel*float64(k)
		c.text("axisname", "start", x, 18, l.Name)
		for i, impl := range m.Impls {
			c.bar(m.Cell(impl, l.Name), q, most, x, headTall+rowTall*float64(i), panel-14)
		}
	}
	return c.done()
}

// bar draws one cell: the number, the verdict when it is no PASS, and a bar below.
func (c *canvas) bar(cell *model.Cell, q *measure, most, x, y, wide float64) {
	if cell == nil {
		c.text("note", "start", x, y+16, "not run")
		return
	}
	v, text := q.of(cell)
	class := "k-bar"
	if cell.Status != "PASS" {
		text, class = text+" "+cell.Status, "k-bar bad"
	}
	c.text("note", "start", x, y+16, text)
	length := 0.0
	if most > 0 {
		length = max(v, 0) / most * wide
	}
	c.path("k-rail", fmt.Sprintf("M%s %sh%sv%sh-%sZ", coord(x), coord(y+21), coord(wide), coord(barTall), coord(wide)))
	c.path(class, fmt.Sprintf("M%s %sh%sv%sh-%sZ", coord(x), coord(y+21), coord(length), coord(barTall), coord(length)))
}

// describeBars states the drawing in words: for each link the implementation with the most and the least.
func describeBars(m *model.Matrix, q *measure) string {
	var parts []string
	for _, l := range m.Links {
		var least, most *model.Cell
		for _, impl := range m.Impls {
			c := m.Cell(impl, l.Name)
			if c == nil {
				continue
			}
			v, _ := q.of(c)
			if least == nil || v < first(q.of(least)) {
				least = c
			}
			if most == nil || v > first(q.of(most)) {
				most = c
			}
		}
		if most != nil {
			_, high := q.of(most)
			_, low := q.of(least)
			parts = append(parts, fmt.Sprintf("%s: from %s (%s) to %s (%s)", l.Name, low, least.Impl, high, most.Impl))
		}
	}
	return strings.Join(parts, "; ") + "."
}

func first(v float64, _ string) float64 { return v }
