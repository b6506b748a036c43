package html

import (
	"fmt"
	"html/template"
	"strconv"
	"strings"
)

// canvas is an SVG drawing in progress. Colours and fonts come from classes of the style sheet, so that a drawing
// follows the reader's colour scheme.
type canvas struct {
	b             strings.Builder
	width, height float64
	id            string
}

// newCanvas begins a drawing with a title and a description for readers who cannot see it.
func newCanvas(id, class string, width, height float64, title, desc string) *canvas {
	id = template.HTMLEscapeString(id)
	c := &canvas{width: width, height: height, id: id}
	fmt.Fprintf(&c.b,
		`<svg class="%s" viewBox="0 0 %g %g" role="img" aria-labelledby="%s-t %s-d"><title id="%s-t">%s</title><desc `+
			`id="%s-d">%s</desc>`,
		class, width, height, id, id, id, template.HTMLEscapeString(title), id, template.HTMLEscapeString(desc))
	return c
}

// done ends the drawing.
func (c *canvas) done() template.HTML {
	c.b.WriteString("</svg>")
	return template.HTML(c.b.String()) // numbers and escaped text only
}

func (c *canvas) line(class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(&c.b, `<line class="%s" x1="%s" y1="%s" x2="%s" y2="%s"/>`, class, coord(x1), coord(y1),
		coord(x2), coord(y2))
}

// text writes s; anchor is start, middle or end.
func (c *canvas) text(class, anchor string, x, y float64, s string) {
	fmt.Fprintf(&c.b, `<text class="%s" text-anchor="%s" x="%s" y="%s">%s</text>`, class, anchor, coord(x), coord(y),
		template.HTMLEscapeString(s))
}

func (c *canvas) rect(class string, x, y, wide, tall float64) {
	fmt.Fprintf(&c.b, `<rect class="%s" x="%s" y="%s" width="%s" height="%s"/>`, class, coord(x), coord(y),
		coord(wide), coord(tall))
}

func (c *canvas) path(class, d string) {
	fmt.Fprintf(&c.b, `<path class="%s" d="%s"/>`, class, d)
}

// frame draws grid, axes and their labels; the names of the axes carry the units.
func (c *canvas) frame(x, y *axis, xName, yName string) {
	y.labels(func(px float64, text string) {
		c.line("grid", x.from, px, x.to, px)
		c.text("tick", "end", x.from-8, px+4, text)
	})
	x.labels(func(px float64, text string) {
		c.line("axis", px, y.from, px, y.from+5)
		c.text("tick", "middle", px, y.from+19, text)
	})
	c.line("axis", x.from, y.from, x.to, y.from)
	c.text("axisname", "end", x.to, y.from+37, named(xName, x.unit))
	c.text("axisname", "start", 2, y.to-14, named(yName, y.unit))
}

func named(name, unit string) string {
	if unit == "" {
		return name
	}
	return name + ", " + unit
}

// coord prints a pixel with a tenth.
func coord(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }
