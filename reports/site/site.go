// Package site writes what a store of nights tells as static pages: tonight, the matrix of all series, a page for each
// series, for each cause of changes, for each failure and for each device over its firmware, an Atom feed and the
// changes as JSON. The pages lie in one folder, load nothing and need no script; the same nights give the same bytes.
package site

import (
	"crypto/sha256"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"path/filepath"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/quantity"
	"github.com/rdma-gauntlet/gauntlet/perf/history"
	"github.com/rdma-gauntlet/gauntlet/reports/html"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// Bounds of a site.
const (
	maxSeries = 5000 // pages
	maxCauses = 200  // pages, the newest
	maxRows   = 1500 // of a table
)

// Site is what the pages are made of. Nothing of it is changed once its Pages or Uses were asked for.
type Site struct {
	Version string            // of this program
	Store   string            // where the nights are kept
	Folder  string            // where the pages lie, from where they link to runs
	From    string            // the folder in which a relative path of a run begins; absolute if Folder is
	There   func(string) bool // reports whether a report is at this path; nil takes all for there
	Nights  []history.Night   // of the store
	Tonight *model.Night      // what the newest night tells of itself; nil when only its points are known
	Evidence

	past *past // what the nights come to; nil until somebody asks
}

// known is what the nights come to.
func (s *Site) known() *past {
	if s.past == nil {
		s.past = newPast(s)
	}
	return s.past
}

// Page is a file of the site.
type Page struct {
	Name  string
	Write func(io.Writer) error
}

//go:embed assets/site.tmpl
var pageText string

//go:embed assets/site.css
var style string

// Pages are all files of the site, the index first.
func (s *Site) Pages() ([]Page, error) {
	t, err := template.New("site").Funcs(template.FuncMap{
		"slug":   slug,
		"add":    func(a, b int) int { return a + b },
		"list":   func(of ...any) []any { return of },
		"short":  func(c string) string { return fmt.Sprintf("%.12s", c) },
		"plural": func(n int, one, many string) string { return quantity.Plural(int64(n), one, many) },
	}).Parse(pageText)
	if err != nil {
		return nil, err
	}
	p := s.known()
	page := func(name, kind string, view func() any) Page {
		return Page{name, func(w io.Writer) error { return html.Page(w, t.Lookup(kind), view()) }}
	}
	list := []Page{
		page("index.html", "index", func() any { return newIndex(p) }),
		page("matrix.html", "matrix", func() any { return newGrid(p) }),
		{"feed.xml", p.feed}, {"changes.json", p.json},
	}
	for i := range p.causes {
		c := &p.causes[i]
		list = append(list, page(c.Page, "change", func() any { return newDifference(p, c) }))
	}
	for _, f := range p.list {
		list = append(list, page(f.page, "failure", func() any { return newFailurePage(p, f) }))
	}
	for _, d := range p.devices {
		list = append(list, page(d.page, "device", func() any { return newDevicePage(p, d) }))
	}
	for i := range p.shown() {
		track := &p.tracks[i]
		list = append(list, page(seriesPage(&track.Series, track.Host), "series",
			func() any { return newCourse(p, track) }))
	}
	return list, nil
}

// head is what every page begins with.
type head struct {
	Policy  string
	Style   template.CSS
	Title   string
	Version string
	Store   string
	Night   string // the newest
}

func (p *past) head(title string) head {
	return head{html.Policy(), html.Style() + template.CSS(style), title, p.site.Version, p.site.Store, p.tonight.Night}
}

// seriesPage names the page of a series of a host. The names of series are text of others, and those of files are not.
func seriesPage(s *history.Series, host string) string {
	return "series-" + digest(s.Name, s.Bench, string(s.Class), host) + ".html"
}

func digest(parts ...string) string {
	return fmt.Sprintf("%.12x", sha256.Sum256([]byte(strings.Join(parts, "\x00"))))[:12]
}

// link is the address of a run's report from the pages; "" when there is none. A run is a folder, or an address.
func (s *Site) link(run string) string {
	if run == "" || strings.HasPrefix(run, "https://") {
		return run
	}
	if filepath.Ext(run) != ".html" {
		run = filepath.Join(run, "report.html")
	}
	if !filepath.IsAbs(run) {
		run = filepath.Join(s.From, run)
	}
	if s.There != nil && !s.There(run) {
		return ""
	}
	rel, err := filepath.Rel(s.Folder, run)
	if err != nil {
		return ""
	}
	return "./" + filepath.ToSlash(rel)
}

// slug is a word as a class of the style sheet.
func slug(s string) string {
	word, _, _ := strings.Cut(s, " ")
	return strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c == '-' {
			return c
		}
		return -1
	}, strings.ToLower(word))
}

// text is a value as people read it.
func text(e *history.Entry) string {
	switch {
	case e.Word != "":
		return e.Word
	case e.Gap():
		return e.Status
	case e.Class == history.Noisy && len(e.Reference) > 0:
		return quantity.Value(e.Value(), "") + " of the pinned build"
	}
	return value(e.Value(), e.Unit)
}
