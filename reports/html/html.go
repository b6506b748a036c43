// Package html writes the report of a run as one self-contained HTML file. It opens from a disk, loads nothing, and
// shows everything without scripts but the zoomable plot; what a Spec, a rule or a device says is text, never markup.
//
// A content security policy in the file allows only the two scripts that this package brings, by their hashes, so that a
// mistake in escaping could not run anything either.
package html

import (
	"bufio"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"io"

	"github.com/rdma-gauntlet/gauntlet/harness/quantity"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// The assets: the page, its style and script, and uPlot (MIT, https://github.com/leeoniya/uPlot), which draws plots of
// 10^5 points.
//
//go:embed assets/page.tmpl assets/contrast.tmpl assets/matrix.tmpl assets/perf.tmpl assets/atlas.tmpl assets/figures.tmpl assets/qualification.tmpl
//go:embed assets/style.css assets/plot.js assets/uplot
var assets embed.FS

var page = template.Must(template.New("page.tmpl").Funcs(template.FuncMap{"slug": slug, "count": count, "bytes": quantity.Bytes}).ParseFS(assets, "assets/page.tmpl"))

// Write writes the report of r.
func Write(w io.Writer, r *model.Result) error {
	b := bufio.NewWriter(w)
	if err := page.Execute(b, newView(r)); err != nil {
		return err
	}
	return b.Flush()
}

// asset returns an embedded file. The names are constants, so it is there.
func asset(name string) string {
	b, _ := assets.ReadFile("assets/" + name)
	return string(b)
}

// policy allows the given scripts, the style of the page, and nothing from elsewhere.
func policy(scripts ...template.JS) string {
	s := "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; script-src"
	for _, text := range scripts {
		sum := sha256.Sum256([]byte(text))
		s += " 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return s
}
