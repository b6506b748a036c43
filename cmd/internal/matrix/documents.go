package matrix

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/document"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/run"
	"github.com/rdma-gauntlet/gauntlet/reports/html"
	"github.com/rdma-gauntlet/gauntlet/reports/markdown"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// Prepare makes the folder of a matrix. It refuses a folder that holds one.
func Prepare(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, "matrix.json")); err == nil {
		return fmt.Errorf("matrix: %s %w a matrix; choose another folder or remove it", dir, run.ErrHeld)
	}
	return os.MkdirAll(dir, 0o755)
}

// Page returns the file of the HTML page for a path: of a folder, matrix.html in it. "" stays "".
func Page(path string) string {
	if path == "" {
		return ""
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() || strings.HasSuffix(path, "/") {
		return filepath.Join(path, "matrix.html")
	}
	return path
}

// Write writes matrix.json, matrix.md and matrix.html beside the run folders, and the HTML page also to the file page
// unless that is "".
func Write(m *model.Matrix, page string) error {
	pageIn := func(dir string) func(io.Writer) error { // with links relative to dir
		return func(w io.Writer) error { return html.Matrix(w, m, dir) }
	}
	err := document.Folder(m.Folder, []document.Document{
		{Name: "matrix.json", Write: func(w io.Writer) error { return document.JSON(w, m) }},
		{Name: "matrix.md", Write: func(w io.Writer) error { return markdown.Matrix(w, m) }},
		{Name: "matrix.html", Write: pageIn(m.Folder)},
	})
	if page != "" {
		err = errors.Join(err, document.File(page, pageIn(filepath.Dir(page))))
	}
	return err
}
