// Package html writes the report of a run as one self-contained HTML file. It opens from a disk, loads nothing, and
// shows everything without scripts but the zoomable plot; text from a Spec, a rule or a device is never markup.
//
// A content security policy in the file allows only the two scripts of this package, by their hashes, so that a mistake
// in escaping could not run anything either.
package html

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/rdma-gauntlet/gauntlet/harness/quantity"
	"github.com/rdma-gauntlet/gauntlet/harness/quote"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// The assets: the page, its style and script, and uPlot (MIT, https://github.com/leeoniya/uPlot), which draws plots of
// 10^5 points.
//
//go:embed assets/page.tmpl assets/contrast.tmpl assets/matrix.tmpl assets/perf.tmpl assets/atlas.tmpl
//go:embed assets/figures.tmpl assets/qualification.tmpl assets/rulebook.tmpl assets/passport.tmpl assets/passports.tmpl
//go:embed assets/style.css assets/plot.js assets/rulebook.js assets/uplot
var assets embed.FS

// Write writes the report of r.
func Write(w io.Writer, r *model.Result) error {
	return render(w, "page.tmpl", newView(r))
}

// functions are the functions that the templates call.
var functions = template.FuncMap{
	"bytes":  quantity.Bytes,
	"count":  count,
	"join":   func(list []string) string { return strings.Join(list, ", ") },
	"lines":  Rungs,
	"list":   func(of ...any) []any { return of },
	"plural": plural,
	"slug":   slug,
}

// render writes a page by its template, which is parsed here: every process of a run would pay for one that is parsed
// at its start. The template escapes foreign text for its context; characters that do not print, or that change the
// reading order, are the same in every context of a page, and so are their escapes.
func render(w io.Writer, name string, v any) error {
	t, err := template.New(name).Funcs(functions).ParseFS(assets, "assets/"+name)
	if err != nil {
		return err
	}
	return Page(w, t, v)
}

// Page writes a page of another package by its template, which escapes foreign text likewise.
func Page(w io.Writer, t *template.Template, v any) error {
	var b strings.Builder
	if err := t.Execute(&b, v); err != nil {
		return err
	}
	_, err := io.WriteString(w, visible(b.String()))
	return err
}

// Style is the style of all pages, for light, dark and paper.
func Style() template.CSS { return template.CSS(asset("style.css")) }

// Policy is the content policy of a page that needs no script: it loads nothing.
func Policy() string { return policy() + " 'none'" }

// visible replaces the characters that quote.Text would escape: an escape would break a script, and the place of a lost
// one is enough to see in text that should not have come so far.
func visible(s string) string {
	if quote.Text(s) == s {
		return s
	}
	return strings.Map(func(c rune) rune {
		if c == '\n' || c == '\t' || quote.Shows(c) {
			return c
		}
		return utf8.RuneError
	}, s)
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
