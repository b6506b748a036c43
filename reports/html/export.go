package html

import (
	"fmt"
	"html/template"
	"io"
	"regexp"
	"strings"
)

// seriesColours is the number of colours of the style sheet for transports and curves; they are distinguishable without
// colour vision too (Okabe and Ito), and each coloured item has a label beside it.
const seriesColours = 8

// series is the number of a colour in class names: f3 fills, l3 draws.
func series(i int) int { return i % seriesColours }

// edge is the margin around a drawing in a separate file, in pixels.
const edge = 16

// export writes a drawing as a separate file: the page's style for drawings, in its light colours and without
// variables, which few programs for SVG know.
func export(w io.Writer, drawing template.HTML, width, height float64) error {
	tag, inner, _ := strings.Cut(string(drawing), ">")
	tag = viewBox.ReplaceAllString(tag, fmt.Sprintf(`viewBox="%d %d %g %g"`, -edge, -edge, width+2*edge, height+2*edge))
	tag = strings.Replace(tag, "<svg", fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%g" height="%g"`,
		width+2*edge, height+2*edge), 1)
	_, err := fmt.Fprintf(w, "%s><style>%s</style><rect x=\"%d\" y=\"%d\" width=\"100%%\" height=\"100%%\" "+
		"fill=\"#ffffff\"/>%s\n", visible(tag), exportStyle(), -edge, -edge, visible(inner))
	return err
}

var (
	viewBox   = regexp.MustCompile(`viewBox="[^"]*"`)
	variable  = regexp.MustCompile(`(--[a-z0-9-]+):\s*([^;]+);`)
	reference = regexp.MustCompile(`var\((--[a-z0-9-]+)\)`)
)

// exportStyle is the rules of the style sheet that are for drawings, with the values of the light scheme.
func exportStyle() string {
	sheet := asset("style.css")
	light, _, _ := strings.Cut(sheet, "@media")
	values := map[string]string{}
	for _, v := range variable.FindAllStringSubmatch(light, -1) {
		values[v[1]] = v[2]
	}
	var b strings.Builder
	for line := range strings.Lines(sheet) {
		if strings.HasPrefix(line, "svg ") {
			b.WriteString(reference.ReplaceAllStringFunc(line, func(s string) string {
				return values[reference.FindStringSubmatch(s)[1]]
			}))
		}
	}
	return b.String()
}
