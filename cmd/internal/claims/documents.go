package claims

import (
	"errors"
	"io"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/document"
	"github.com/rdma-gauntlet/gauntlet/perf/atlas"
	"github.com/rdma-gauntlet/gauntlet/perf/figures"
	"github.com/rdma-gauntlet/gauntlet/perf/suite"
	"github.com/rdma-gauntlet/gauntlet/reports/csv"
	"github.com/rdma-gauntlet/gauntlet/reports/html"
	"github.com/rdma-gauntlet/gauntlet/reports/markdown"
)

// WriteAtlas writes a map to a folder: atlas.html, .svg, .csv and .json.
func WriteAtlas(dir string, m *atlas.Map) error {
	return document.Folder(dir, []document.Document{
		{Name: "atlas.json", Write: func(w io.Writer) error { return document.JSON(w, m) }},
		{Name: "atlas.csv", Write: func(w io.Writer) error { return csv.Atlas(w, m) }},
		{Name: "atlas.svg", Write: func(w io.Writer) error { return html.AtlasSVG(w, m) }},
		{Name: "atlas.html", Write: func(w io.Writer) error { return html.Atlas(w, m) }},
	})
}

// WritePerf writes the result of perf to those of its files that are not "": an HTML page, a table in Markdown, and a
// file in Go's benchmark format for benchstat.
func WritePerf(m *suite.Result, page, table, gobench string) error {
	var errs []error
	for _, out := range []struct {
		path  string
		write func(io.Writer, *suite.Result) error
	}{{page, html.Perf}, {table, markdown.Perf}, {gobench, GoBench}} {
		if out.path != "" {
			errs = append(errs, document.File(out.path, func(w io.Writer) error { return out.write(w, m) }))
		}
	}
	return errors.Join(errs...)
}

// WriteFigures writes figures to a folder: figures.html and figures.json with all of them, and ID.svg and ID.csv for
// each.
func WriteFigures(dir string, m *figures.Set) error {
	files := []document.Document{
		{Name: "figures.json", Write: func(w io.Writer) error { return document.JSON(w, m) }},
		{Name: "figures.html", Write: func(w io.Writer) error { return html.Figures(w, m) }},
	}
	for i := range m.Figures {
		figure := &m.Figures[i]
		files = append(files, document.Document{Name: figure.ID + ".svg", Write: func(w io.Writer) error {
			return html.FigureSVG(w, figure)
		}},
			document.Document{Name: figure.ID + ".csv", Write: func(w io.Writer) error {
				return csv.Figure(w, figure)
			}})
	}
	return document.Folder(dir, files)
}
