package claims

import (
	"io"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/document"
	"github.com/rdma-gauntlet/gauntlet/perf/atlas"
	"github.com/rdma-gauntlet/gauntlet/perf/figures"
	"github.com/rdma-gauntlet/gauntlet/reports/csv"
	"github.com/rdma-gauntlet/gauntlet/reports/html"
)

// WriteAtlas writes a map into a folder: atlas.html, .svg, .csv and .json.
func WriteAtlas(dir string, m *atlas.Map) error {
	return document.Folder(dir, []document.Document{
		{Name: "atlas.json", Write: func(w io.Writer) error { return document.JSON(w, m) }},
		{Name: "atlas.csv", Write: func(w io.Writer) error { return csv.Atlas(w, m) }},
		{Name: "atlas.svg", Write: func(w io.Writer) error { return html.AtlasSVG(w, m) }},
		{Name: "atlas.html", Write: func(w io.Writer) error { return html.Atlas(w, m) }},
	})
}

// WriteFigures writes figures into a folder: figures.html and figures.json with all of them, and each as ID.svg and ID.csv.
func WriteFigures(dir string, m *figures.Set) error {
	files := []document.Document{
		{Name: "figures.json", Write: func(w io.Writer) error { return document.JSON(w, m) }},
		{Name: "figures.html", Write: func(w io.Writer) error { return html.Figures(w, m) }},
	}
	for i := range m.Figures {
		figure := &m.Figures[i]
		files = append(files, document.Document{Name: figure.ID + ".svg", Write: func(w io.Writer) error { return html.FigureSVG(w, figure) }},
			document.Document{Name: figure.ID + ".csv", Write: func(w io.Writer) error { return csv.Figure(w, figure) }})
	}
	return document.Folder(dir, files)
}
