package passport

import (
	"context"
	"fmt"
	"io"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/document"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/fault"
	"github.com/rdma-gauntlet/gauntlet/reports/html"
	"github.com/rdma-gauntlet/gauntlet/reports/passport"
)

// mostPages bounds a comparison: nobody reads a table with more columns.
const mostPages = 50

// Pages writes the page of one passport to a file. Of several it writes a page each to a folder, and index.html, which
// compares them.
func Pages(ctx context.Context, files []string, o Options, out string) error {
	if len(files) > mostPages {
		return fault.Usage(fmt.Errorf("passport: %d files: want %d at most", len(files), mostPages))
	}
	var list []*passport.Checked
	for _, file := range files {
		c, err := Read(ctx, file, o)
		if err != nil {
			return err
		}
		c.Doubts = c.Passport.Contradictions()
		list = append(list, c)
	}
	page := func(c *passport.Checked) func(io.Writer) error {
		return func(w io.Writer) error { return html.Passport(w, c) }
	}
	if len(list) == 1 {
		return fault.Broken(document.File(out, page(list[0])))
	}
	var pages []document.Document
	var names []string
	for i, c := range list {
		names = append(names, fmt.Sprintf("%d.html", i+1))
		pages = append(pages, document.Document{Name: names[i], Write: page(c)})
	}
	index := func(w io.Writer) error { return html.Passports(w, list, names) }
	return fault.Broken(document.Folder(out, append(pages, document.Document{Name: "index.html", Write: index})))
}
