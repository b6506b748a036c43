// Package html writes the report of a run as one self-contained HTML file.
package html

import (
	"html/template"
	"io"

	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// Write writes the report of r.
func Write(w io.Writer, r *model.Result) error {
	return page.Execute(w, r)
}

var page = template.Must(template.New("page").Parse("<!doctype html><title>{{.Status}}</title><pre>{{.Spec}}</pre>\n"))
