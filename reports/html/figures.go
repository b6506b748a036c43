package html

import (
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/quantity"
	"github.com/rdma-gauntlet/gauntlet/perf/figures"
)

// Figures writes the page of the papers' figures, each with its table.
func Figures(w io.Writer, m *figures.Set) error {
	v := &figuresView{Set: m, Policy: policy() + " 'none'", Style: template.CSS(asset("style.css"))}
	for i := range m.Figures {
		v.Views = append(v.Views, newFigureView(&m.Figures[i]))
	}
	return render(w, "figures.tmpl", v)
}

// FigureSVG writes the drawing of a figure alone, with its title and conditions, as a file for use in other documents.
func FigureSVG(w io.Writer, f *figures.Figure) error {
	drawing, width, height := drawFigure(f, true)
	return export(w, drawing, width, height)
}

// figuresView is the data of the page.
type figuresView struct {
	*figures.Set
	Policy string
	Style  template.CSS
	Views  []figureView
}

// figureView is one figure.
type figureView struct {
	*figures.Figure
	Drawing template.HTML
	Rows    []figureRow
	Trouble string
}

// figureRow is one point as text.
type figureRow struct{ Panel, Curve, X, Paper, Model, Ours string }

func newFigureView(f *figures.Figure) figureView {
	v := figureView{Figure: f}
	v.Drawing, _, _ = drawFigure(f, false)
	for i := range f.Panels {
		p := &f.Panels[i]
		for k := range p.Curves {
			v.Rows = append(v.Rows, figureRows(p, &p.Curves[k])...)
		}
	}
	if reasons, n := f.Troubles(); n > 0 {
		v.Trouble = fmt.Sprintf("%s without a number: %s", quantity.Plural(int64(n), "point", "points"),
			strings.Join(reasons, "; "))
	}
	return v
}

// figureRows lists the measured points, and those that only the paper has.
func figureRows(p *figures.Panel, c *figures.Curve) (rows []figureRow) {
	paper := map[float64]float64{}
	for _, xy := range c.Paper {
		paper[xy[0]] = xy[1]
	}
	stated := func(x float64) string {
		if y, ok := paper[x]; ok {
			return quantity.Value(y, p.Y.Unit)
		}
		return "–"
	}
	for _, o := range c.Ours {
		r := figureRow{p.Title, c.Name, label(o.X, p.X.Unit), stated(o.X), orDash(o.Model, ""), o.Trouble}
		if o.Estimate != nil {
			r.Ours = quantity.Interval(o.Estimate.Value, o.Estimate.Low, o.Estimate.High, p.Y.Unit)
		}
		delete(paper, o.X)
		rows = append(rows, r)
	}
	for _, xy := range c.Paper {
		if _, left := paper[xy[0]]; left {
			rows = append(rows, figureRow{p.Title, c.Name, label(xy[0], p.X.Unit), stated(xy[0]), "–", "–"})
		}
	}
	return rows
}

// The measures of a figure in pixels: panels two by two, with room for the names of curves at the right of each.
const (
	plotWide = 480.0
	plotTall = 300.0
	plotLeft = 52.0
	plotTop  = 44.0
	plotFoot = 50.0
	keyTall  = 24.0
	lineTall = 17.0
)

// drawFigure draws all panels, and returns the size. A drawing that stands alone includes its title and its conditions.
func drawFigure(f *figures.Figure, alone bool) (drawing template.HTML, width, height float64) {
	columns := min(2, max(1, len(f.Panels)))
	rows := (len(f.Panels) + columns - 1) / columns
	width = 2 * plotWide
	wide := width / float64(columns)
	if len(f.Panels) == 1 {
		wide = 1.5 * plotWide
	}
	var words []string
	if alone {
		words = wrapped(f.Source+": "+f.Title+". Ours: "+f.Conditions+". The paper's text: "+f.Says+".", 150)
		if f.Missing != "" {
			words = append(words, wrapped("Not to be had: "+f.Missing+".", 150)...)
		}
	}
	top := keyTall + lineTall*float64(len(words))
	height = top + plotTall*float64(rows)
	c := newCanvas("f-"+f.ID, "figure", width, height, f.ID+", "+f.Title, describeFigure(f))
	for i, line := range words {
		c.text("tick", "start", 0, 12+lineTall*float64(i), line)
	}
	c.key(lineTall * float64(len(words)))
	for i := range f.Panels {
		x, y := wide*float64(i%columns), top+plotTall*float64(i/columns)
		c.plot(&f.Panels[i], x, y, wide)
	}
	return c.done(), width, height
}

// wrapped breaks a text into lines of at most n characters.
func wrapped(s string, n int) (lines []string) {
	line := ""
	for _, word := range strings.Fields(s) {
		if line != "" && len([]rune(line))+1+len([]rune(word)) > n {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimSpace(line + " " + word)
	}
	return append(lines, line)
}

// key draws the legend of the three kinds of curve.
func (c *canvas) key(y float64) {
	y += 12
	c.circle("ink", 8, y-4, 3.5)
	c.text("tick", "start", 17, y, "ours")
	c.line("modelled ink", 66, y-4, 92, y-4)
	c.text("tick", "start", 98, y, "model")
	c.diamond("stated ink", 158, y-4)
	c.text("tick", "start", 168, y, "paper, as its text states it")
}

// room is the width that the names of the curves take, at the right of a panel, and at most half of it.
func room(p *figures.Panel, wide float64) float64 {
	const letter, before = 7.4, 34
	longest := 0
	for i := range p.Curves {
		longest = max(longest, len([]rune(p.Curves[i].Name)))
	}
	return min(before+letter*float64(longest), wide/2)
}

// plot draws one panel at (left, top).
func (c *canvas) plot(p *figures.Panel, left, top, wide float64) {
	xs, ys := extents(p)
	x := newScale(xs, p.X.Log, false, left+plotLeft, left+wide-room(p, wide))
	y := newScale(ys, p.Y.Log, true, top+plotTall-plotFoot, top+plotTop)
	c.text("strong", "start", left, top+14, p.Title)
	for _, v := range y.rounded(5) {
		c.line("grid", x.from, y.px(v), x.to, y.px(v))
		c.text("tick", "end", x.from-7, y.px(v)+4, label(v, ""))
	}
	for _, v := range x.ticks(p) {
		c.line("axis", x.px(v), y.from, x.px(v), y.from+5)
		c.text("tick", "middle", x.px(v), y.from+19, label(v, p.X.Unit))
	}
	c.line("axis", x.from, y.from, x.to, y.from)
	c.text("axisname", "end", x.to, y.from+37, named(p.X.Name, p.X.Unit))
	c.text("axisname", "start", left, top+plotTop-12, named(p.Y.Name, p.Y.Unit))
	for _, m := range p.Marks {
		if m.Level {
			c.line("limit", x.from, y.px(m.At), x.to, y.px(m.At))
			c.text("note", "start", x.from+6, y.px(m.At)-6, m.Text)
			continue
		}
		c.line("limit", x.px(m.At), y.from, x.px(m.At), y.to)
		c.text("note", "middle", x.px(m.At), y.to-5, m.Text)
	}
	for i := range p.Curves {
		c.curve(&p.Curves[i], series(i), &x, &y)
	}
	c.names(p, &x, &y)
}

// curve draws the model, then ours with its intervals, then the paper's points.
func (c *canvas) curve(k *figures.Curve, colour int, x, y *scale) {
	line := fmt.Sprintf("l%d", colour)
	if len(k.Model) > 0 {
		c.path("modelled "+line, polyline(k.Model, x, y))
	}
	var ours [][2]float64
	for _, o := range k.Ours {
		if o.Estimate == nil {
			continue
		}
		ours = append(ours, [2]float64{o.X, o.Estimate.Value})
		low, high := max(o.Estimate.Low, y.low), min(o.Estimate.High, y.high)
		if e := o.Estimate; e.High > e.Low && high > low {
			c.line(line, x.px(o.X), y.px(low), x.px(o.X), y.px(high))
		}
	}
	if len(ours) > 0 {
		c.path(line, polyline(ours, x, y))
	}
	for _, xy := range ours {
		c.circle(fmt.Sprintf("f%d", colour), x.px(xy[0]), y.px(xy[1]), 3.5)
	}
	for _, xy := range k.Paper {
		c.diamond("stated "+line, x.px(xy[0]), y.px(xy[1]))
	}
}

// polyline is the path through points.
func polyline(points [][2]float64, x, y *scale) string {
	var d strings.Builder
	for i, xy := range points {
		move := "L"
		if i == 0 {
			move = "M"
		}
		d.WriteString(move + coord(x.px(xy[0])) + " " + coord(y.px(xy[1])))
	}
	return d.String()
}

// names writes the name of each curve where it ends, and moves apart those that would cover each other.
func (c *canvas) names(p *figures.Panel, x, y *scale) {
	type end struct {
		at, y  float64
		colour int
		name   string
	}
	var ends []end
	for i := range p.Curves {
		if v, ok := last(&p.Curves[i]); ok {
			ends = append(ends, end{y.px(v), y.px(v), series(i), p.Curves[i].Name})
		}
	}
	slices.SortStableFunc(ends, func(a, b end) int { return compare(a.y, b.y) })
	const apart = 15
	for i := 1; i < len(ends); i++ {
		ends[i].y = max(ends[i].y, ends[i-1].y+apart)
	}
	for i := len(ends) - 1; i >= 0; i-- { // none below the axis
		limit := y.from
		if i < len(ends)-1 {
			limit = ends[i+1].y - apart
		}
		ends[i].y = min(ends[i].y, limit)
	}
	for _, e := range ends {
		c.line(fmt.Sprintf("leader l%d", e.colour), x.to+3, e.at, x.to+13, e.y)
		c.text(fmt.Sprintf("name f%d", e.colour), "start", x.to+16, e.y+4, e.name)
	}
}

func compare(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// last is the value at which a curve ends.
func last(k *figures.Curve) (float64, bool) {
	for i := len(k.Ours) - 1; i >= 0; i-- {
		if e := k.Ours[i].Estimate; e != nil {
			return e.Value, true
		}
	}
	for _, points := range [][][2]float64{k.Model, k.Paper} {
		if n := len(points); n > 0 {
			return points[n-1][1], true
		}
	}
	return 0, false
}

func (c *canvas) circle(class string, x, y, r float64) {
	fmt.Fprintf(&c.b, `<circle class="%s" cx="%s" cy="%s" r="%g"/>`, class, coord(x), coord(y), r)
}

// diamond marks a point of a paper.
func (c *canvas) diamond(class string, x, y float64) {
	const r = 6
	c.path(class, fmt.Sprintf("M%s %sl%d %dl-%d %dl-%d -%dZ", coord(x), coord(y-r), r, r, r, r, r, r))
}

// describeFigure states in words where each curve begins and ends.
func describeFigure(f *figures.Figure) string {
	var parts []string
	for _, p := range f.Panels {
		for _, k := range p.Curves {
			var ours []figures.Measure
			for _, o := range k.Ours {
				if o.Estimate != nil {
					ours = append(ours, o)
				}
			}
			if len(ours) == 0 {
				continue
			}
			a, b := ours[0], ours[len(ours)-1]
			parts = append(parts, strings.TrimSpace(p.Title+" "+k.Name)+fmt.Sprintf(": %s at %s, %s at %s",
				quantity.Value(a.Estimate.Value, p.Y.Unit), label(a.X, p.X.Unit),
				quantity.Value(b.Estimate.Value, p.Y.Unit), label(b.X, p.X.Unit)))
		}
	}
	return strings.Join(parts, "; ") + "."
}
