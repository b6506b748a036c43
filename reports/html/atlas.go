package html

import (
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/quantity"
	"github.com/rdma-gauntlet/gauntlet/perf/atlas"
)

// Atlas writes the page of an atlas: the map and its table.
func Atlas(w io.Writer, m *atlas.Map) error {
	drawing, _, _ := drawAtlas(m)
	v := &atlasView{Map: m, Policy: policy() + " 'none'", Style: template.CSS(asset("style.css")), Drawing: drawing,
		Margin: quantity.Share(m.Margin), Confidence: quantity.Share(m.Confidence)}
	for i := range m.Cells {
		v.Rows = append(v.Rows, newAtlasRow(m, &m.Cells[i]))
	}
	return render(w, "atlas.tmpl", v)
}

// AtlasSVG writes the map alone, as a file for use in other documents.
func AtlasSVG(w io.Writer, m *atlas.Map) error {
	drawing, width, height := drawAtlas(m)
	return export(w, drawing, width, height)
}

// atlasView is the data of the page.
type atlasView struct {
	*atlas.Map
	Policy             string
	Style              template.CSS
	Drawing            template.HTML
	Margin, Confidence string
	Rows               []atlasRow
}

// atlasRow is one link as text.
type atlasRow struct {
	Link, Pick, Lead string
	Trouble          string
	Shares           []atlasShare
}

// atlasShare is one transport over it.
type atlasShare struct {
	Text string
	Best bool
}

func newAtlasRow(m *atlas.Map, c *atlas.Cell) atlasRow {
	r := atlasRow{Link: fmt.Sprintf("%s, %s, loss %s, burst %d", quantity.Rate(c.RateBps), quantity.Duration(c.RTTNs),
		quantity.Share(c.Loss), c.Burst),
		Pick: c.Pick, Lead: c.Verdict(), Trouble: c.Trouble}
	for _, name := range m.Transports {
		s := atlasShare{Text: "–"}
		if e := c.Entry(name); e != nil && e.Share.N > 0 {
			s = atlasShare{quantity.Interval(e.Share.Value*100, e.Share.Low*100, e.Share.High*100, "%"), e.Tied}
		}
		r.Shares = append(r.Shares, s)
	}
	return r
}

// The measures of the map in pixels: a panel for each rate and burst, a row for each RTT, a column for each loss.
const (
	atlasWide   = 960.0
	atlasLeft   = 78.0
	atlasColumn = 172.0 // least
	atlasRowTop = 64.0
	atlasHead   = 62.0 // above a panel
	legendTall  = 26.0
)

// panel is the cells of one rate and burst.
type panel struct {
	rate  float64
	burst int
	cells []*atlas.Cell
}

// panels divides the cells.
func panels(m *atlas.Map) (out []panel) {
	for i := range m.Cells {
		c := &m.Cells[i]
		if n := len(out); n == 0 || out[n-1].rate != c.RateBps || out[n-1].burst != c.Burst {
			out = append(out, panel{rate: c.RateBps, burst: c.Burst})
		}
		out[len(out)-1].cells = append(out[len(out)-1].cells, c)
	}
	return out
}

// axes are the losses and round trips of a panel, in their order.
func (p *panel) axes() (losses []float64, rtts []int64) {
	for _, c := range p.cells {
		if !slices.Contains(losses, c.Loss) {
			losses = append(losses, c.Loss)
		}
		if !slices.Contains(rtts, c.RTTNs) {
			rtts = append(rtts, c.RTTNs)
		}
	}
	return losses, rtts
}

// drawAtlas draws the map, and returns its size.
func drawAtlas(m *atlas.Map) (drawing template.HTML, width, height float64) {
	all := panels(m)
	width, height = atlasWide, legendTall
	for i := range all {
		losses, rtts := all[i].axes()
		width = max(width, atlasLeft+atlasColumn*float64(len(losses)))
		height += atlasHead + atlasRowTop*float64(len(rtts))
	}
	c := newCanvas("atlas", "atlas", width, height, "Best transport by round trip, loss and burst", describeAtlas(m))
	c.atlasLegend(m)
	y := legendTall
	for i := range all {
		y = c.panel(m, &all[i], y)
	}
	return c.done(), width, height
}

// atlasLegend names the transports in the order in which ties are decided, with the number of links that each is picked
// for.
func (c *canvas) atlasLegend(m *atlas.Map) {
	x := 0.0
	for i, name := range m.Transports {
		n := 0
		for k := range m.Cells {
			if m.Cells[k].Pick == name {
				n++
			}
		}
		text := fmt.Sprintf("%s: %d", name, n)
		c.rect(fmt.Sprintf("f%d", series(i)), x, 3, 12, 12)
		c.text("tick", "start", x+17, 14, text)
		x += 17 + 7.2*float64(len([]rune(text))) + 18
	}
}

// panel draws one grid below y and returns where it ends.
func (c *canvas) panel(m *atlas.Map, p *panel, y float64) float64 {
	losses, rtts := p.axes()
	burst := "losses one by one"
	if p.burst > 1 {
		burst = fmt.Sprintf("bursts of %d packets", p.burst)
		if m.Law == "geometric" {
			burst += " on average"
		}
	}
	c.text("strong", "start", 0, y+24, quantity.Rate(p.rate)+", "+burst)
	c.text("tick", "start", 0, y+atlasHead-8, "RTT \\ loss")
	wide := (c.width - atlasLeft) / float64(len(losses))
	for i, loss := range losses {
		c.text("tick", "start", atlasLeft+wide*float64(i)+12, y+atlasHead-8, quantity.Share(loss))
	}
	y += atlasHead
	for i, rtt := range rtts {
		c.text("tick", "start", 0, y+atlasRowTop*float64(i)+26, quantity.Duration(rtt))
	}
	for _, cell := range p.cells {
		column, row := slices.Index(losses, cell.Loss), slices.Index(rtts, cell.RTTNs)
		c.link(m, cell, atlasLeft+wide*float64(column), y+atlasRowTop*float64(row), wide-4)
	}
	return y + atlasRowTop*float64(len(rtts))
}

// link draws one cell: a bar with the colours of all tied transports, the pick, its share of the line rate, and its
// lead.
func (c *canvas) link(m *atlas.Map, cell *atlas.Cell, x, y, wide float64) {
	const bar, tall = 7.0, atlasRowTop - 4
	if cell.Trouble != "" {
		c.rect("blank", x, y, wide, tall)
		c.text("note", "start", x+14, y+20, short(cell.Trouble))
		return
	}
	pick, tied := slices.Index(m.Transports, cell.Pick), cell.Tied()
	c.rect(fmt.Sprintf("f%d tint", series(pick)), x, y, wide, tall)
	n := 0
	for i, name := range m.Transports {
		if e := cell.Entry(name); e != nil && e.Tied {
			c.rect(fmt.Sprintf("f%d", series(i)), x, y+tall*float64(n)/float64(tied), bar, tall/float64(tied))
			n++
		}
	}
	c.text("strong", "start", x+14, y+18, cell.Pick)
	c.text("tick", "start", x+14, y+35, quantity.Share(cell.Entry(cell.Pick).Share.Value)+" of the line")
	c.text("tick", "start", x+14, y+51, cell.Short())
}

// short keeps a reason within a cell.
func short(s string) string {
	const most = 24
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

// describeAtlas states in words how often each transport is picked.
func describeAtlas(m *atlas.Map) string {
	picks := map[string]int{}
	for i := range m.Cells {
		picks[m.Cells[i].Pick]++
	}
	var parts []string
	for _, name := range m.Transports {
		parts = append(parts,
			fmt.Sprintf("%s is picked for %s", name, quantity.Plural(int64(picks[name]), "link", "links")))
	}
	return strings.Join(parts, "; ") + "."
}
