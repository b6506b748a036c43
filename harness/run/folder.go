package run

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/reports/html"
	"github.com/rdma-gauntlet/gauntlet/reports/junit"
	"github.com/rdma-gauntlet/gauntlet/reports/markdown"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// folder is a run folder; a nil folder keeps nothing.
type folder struct{ dir string }

// openFolder makes the run folder. A folder that already holds a result is not overwritten.
func openFolder(dir string) (*folder, error) {
	if dir == "" {
		return nil, nil
	}
	if _, err := os.Stat(filepath.Join(dir, "result.json")); err == nil {
		return nil, fmt.Errorf("run: %s already holds a result; choose another folder or remove it", dir)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("run: %w", err)
	}
	return &folder{dir}, nil
}

func (f *folder) path(name string) string { return filepath.Join(f.dir, name) }

// sub returns the path of a folder within, "" when nothing is kept.
func (f *folder) sub(name string) string {
	if f == nil {
		return ""
	}
	return f.path(name)
}

// write replaces a file as a whole: a reader sees the old content or the new, also when the disk is full.
func (f *folder) write(name string, content []byte) error {
	if f == nil {
		return nil
	}
	tmp := f.path("." + name)
	err := os.WriteFile(tmp, content, 0o644)
	if err == nil {
		err = os.Rename(tmp, f.path(name))
	}
	if err != nil {
		return errors.Join(fmt.Errorf("run: write %s: %w", f.path(name), bare(err)), remove(tmp))
	}
	return nil
}

// bare strips the path that the caller's message already has.
func bare(err error) error {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// finish writes the results and the reports; runErr, which is already in the result, is returned first.
func (f *folder) finish(r *model.Result, runErr error) error {
	if f == nil {
		return runErr
	}
	r.Report = f.path("report.html")
	errs := []error{runErr}
	encode := func(v any) func(io.Writer) error {
		return func(w io.Writer) error {
			e := json.NewEncoder(w)
			e.SetIndent("", "  ")
			return e.Encode(v)
		}
	}
	for _, out := range []struct {
		name  string
		write func(io.Writer) error
	}{
		{"verdicts.json", encode(r.Verdicts)},
		{"result.json", encode(r)},
		{"junit.xml", func(w io.Writer) error { return junit.Write(w, r) }},
		{"summary.md", func(w io.Writer) error { return markdown.Write(w, r) }},
		{"report.html", func(w io.Writer) error { return html.Write(w, r) }},
	} {
		var b bytes.Buffer
		err := out.write(&b)
		if err == nil {
			err = f.write(out.name, b.Bytes())
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// store is trace.ndjson up to a number of packet records. When it cannot be written, the run goes on without it and
// close returns why.
type store struct {
	file          *os.File
	out           *trace.Writer
	limit         int
	kept, dropped int
	err           error
}

// trace opens trace.ndjson.
func (f *folder) trace(h trace.Header, limit int) (*store, error) {
	if f == nil {
		return &store{}, nil
	}
	file, err := os.Create(f.path("trace.ndjson"))
	if err != nil {
		return nil, fmt.Errorf("run: %w", err)
	}
	out, err := trace.NewWriter(file, &h)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("run: write %s: %w", file.Name(), bare(err)), file.Close())
	}
	return &store{file: file, out: out, limit: limit}, nil
}

// full reports whether the trace takes no more, and so what comes is only counted.
func (s *store) full() bool { return s.out == nil || s.kept >= s.limit }

// Packet implements trace.Sink.
func (s *store) Packet(r *trace.Record) {
	if s.full() {
		s.dropped++
		return
	}
	s.kept++
	s.out.Packet(r)
}

// Event implements trace.Sink.
func (s *store) Event(e *trace.Event) {
	if !s.full() {
		s.out.Event(e)
	}
}

// End implements trace.Sink.
func (s *store) End(at vtime.Time) {
	if s.out != nil {
		s.out.End(at)
	}
}

// close flushes the file; a write error of any moment comes out here.
func (s *store) close() error {
	if s.out == nil {
		return nil
	}
	err := errors.Join(s.out.Flush(), s.file.Close())
	if err != nil {
		return fmt.Errorf("run: write %s: %w", s.file.Name(), bare(err))
	}
	return nil
}
