package gate

import (
	"io"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/document"
	"github.com/rdma-gauntlet/gauntlet/reports/github"
	"github.com/rdma-gauntlet/gauntlet/reports/junit"
	"github.com/rdma-gauntlet/gauntlet/reports/markdown"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
	"github.com/rdma-gauntlet/gauntlet/reports/sarif"
)

// Write writes the documents of the report folder.
func Write(g *model.Gate) error {
	return document.Folder(g.Folder, []document.Document{
		{Name: "gate.json", Write: func(w io.Writer) error { return document.JSON(w, g) }},
		{Name: "summary.md", Write: func(w io.Writer) error { return markdown.Gate(w, g) }},
		{Name: "junit.xml", Write: func(w io.Writer) error { return junit.Gate(w, g) }},
		{Name: "gate.sarif", Write: func(w io.Writer) error { return sarif.Gate(w, g) }},
		{Name: "annotations.txt", Write: func(w io.Writer) error { return github.Annotations(w, g) }},
		{Name: "outputs.txt", Write: func(w io.Writer) error { return github.Outputs(w, g) }},
	})
}
