package html_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/reports/html"
	"github.com/rdma-gauntlet/gauntlet/reports/html/htmltest"
	"github.com/rdma-gauntlet/gauntlet/reports/model/modeltest"
	"github.com/rdma-gauntlet/gauntlet/reports/passport"
)

// Every kind of page fits a desk and a phone, can be read, and can be used with the keys alone.
func TestBrowserFindsNoFaults(t *testing.T) {
	pages := map[string]func(w io.Writer) error{
		"run":           func(w io.Writer) error { return html.Write(w, modeltest.Result()) },
		"matrix":        func(w io.Writer) error { return html.Matrix(w, modeltest.Matrix(), "") },
		"perf":          func(w io.Writer) error { return html.Perf(w, modeltest.Perf()) },
		"atlas":         func(w io.Writer) error { return html.Atlas(w, modeltest.Atlas()) },
		"figures":       func(w io.Writer) error { return html.Figures(w, modeltest.Figures()) },
		"contrast":      func(w io.Writer) error { return html.Contrast(w, modeltest.Contrast()) },
		"qualification": func(w io.Writer) error { return html.Qualification(w, modeltest.Qualification()) },
		"rulebook":      func(w io.Writer) error { return html.Rulebook(w, modeltest.Rulebook()) },
		"passport":      func(w io.Writer) error { return html.Passport(w, modeltest.Checked()) },
		"passports": func(w io.Writer) error {
			two := []*passport.Checked{modeltest.Checked(), modeltest.Checked()}
			return html.Passports(w, two, []string{"a.html", "b.html"})
		},
	}
	b := htmltest.Start(t)
	dir := t.TempDir()
	for name, write := range pages {
		var page bytes.Buffer
		if err := write(&page); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name+".html")
		if err := os.WriteFile(path, page.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, v := range []htmltest.View{{Width: 1280, Height: 900}, {Width: 400, Height: 800, Dark: true}} {
			p := b.Open("file://"+path, v)
			if wrong, weak := p.Faults(); len(wrong)+len(weak)+len(p.Console) > 0 {
				t.Errorf("%s, %d pixels wide: wrong: %q, faint: %q, console: %q", name, v.Width, wrong, weak, p.Console)
			}
			p.Close()
		}
	}
}
