package night

import (
	"io"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/document"
	"github.com/rdma-gauntlet/gauntlet/reports/markdown"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// Write writes the documents of the report folder.
func Write(n *model.Night) error {
	return document.Folder(n.Folder, []document.Document{
		{Name: "night.json", Write: func(w io.Writer) error { return document.JSON(w, n) }},
		{Name: "night.md", Write: func(w io.Writer) error { return markdown.Night(w, n) }},
	})
}
