// Package document writes results into files and folders. What they look like is for the packages below reports to say.
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

// Document is one file of a folder.
type Document struct {
	Name  string
	Write func(io.Writer) error
}

// Folder writes documents into a folder, all that can be written, and returns every error.
func Folder(dir string, files []Document) error {
	var errs []error
	for _, d := range files {
		errs = append(errs, File(filepath.Join(dir, d.Name), d.Write))
	}
	return errors.Join(errs...)
}

// NewFolder is where a command writes: out, or when that is "" a new folder below runs/, named after the time and these
// words.
func NewFolder(out string, words ...string) string {
	if out != "" {
		return out
	}
	return filepath.Join("runs",
		strings.Join(append([]string{time.Now().UTC().Format("20060102-150405")}, words...), "-"))
}

// Free is dir, or when that exists dir with the first number from 2 behind it that is not taken.
func Free(dir string) string {
	free := dir
	for n := 2; ; n++ {
		if _, err := os.Stat(free); errors.Is(err, os.ErrNotExist) {
			return free
		}
		free = fmt.Sprintf("%s-%d", dir, n)
	}
}

// File makes a file, and the folder that it lies in.
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

// JSON writes indented JSON, in which what does not print is escaped.
func JSON(w io.Writer, v any) error { return quote.JSON(w, v) }
