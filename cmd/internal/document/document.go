// Package document writes results to files and folders. Their content is for the packages below reports.
package document

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/quote"
)

// Document is a file to be written to a folder.
type Document struct {
	Name  string
	Write func(io.Writer) error
}

// Folder writes documents to a folder. An error of one does not stop the others; it returns all errors.
func Folder(dir string, files []Document) error {
	var errs []error
	for _, d := range files {
		errs = append(errs, File(filepath.Join(dir, d.Name), d.Write))
	}
	return errors.Join(errs...)
}

// NewFolder returns the folder for the output of a command: out, or if that is "" a name below runs/ that is free, made
// of the time and the words.
func NewFolder(out string, words ...string) string {
	if out != "" {
		return out
	}
	return Free(filepath.Join("runs",
		strings.Join(append([]string{time.Now().UTC().Format("20060102-150405")}, words...), "-")))
}

// Claim makes a folder that no other process has: dir, or if that exists, the first of dir-2, dir-3 and so on.
func Claim(dir string) (string, error) {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", err
	}
	for {
		free := Free(dir)
		if err := os.Mkdir(free, 0o755); !errors.Is(err, os.ErrExist) {
			return free, err
		}
	}
}

// Free returns dir, or if that exists, the first of dir-2, dir-3 and so on that does not.
func Free(dir string) string {
	free := dir
	for n := 2; ; n++ {
		if _, err := os.Stat(free); errors.Is(err, os.ErrNotExist) {
			return free
		}
		free = fmt.Sprintf("%s-%d", dir, n)
	}
}

// File writes a file, and makes its folder if there is none.
func File(path string, write func(io.Writer) error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	w, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(write(w), w.Close())
}

// JSON writes indented JSON in which non-printable characters are escaped.
func JSON(w io.Writer, v any) error { return quote.JSON(w, v) }
