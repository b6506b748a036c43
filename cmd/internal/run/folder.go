package run

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/rdma-gauntlet/gauntlet/harness/quote"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/trace/ndjson"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/harness/whole"
	"github.com/rdma-gauntlet/gauntlet/reports/html"
	"github.com/rdma-gauntlet/gauntlet/reports/junit"
	"github.com/rdma-gauntlet/gauntlet/reports/markdown"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// folder is a run folder. A nil folder discards everything.
type folder struct{ dir string }

// ErrHeld is in the error of a folder that is not overwritten because it holds an earlier result.
var ErrHeld = errors.New("already holds")

// openFolder makes the run folder. It refuses a folder that holds a result, see Vacant.
func openFolder(dir string) (*folder, error) {
	if dir == "" {
		return nil, nil
	}
	if err := Vacant(dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("run: %w", err)
	}
	return &folder{dir}, nil
}

// Vacant returns an error that is ErrHeld when one of the folders holds a result.
func Vacant(folders ...string) error {
	for _, dir := range folders {
		if _, err := os.Stat(filepath.Join(dir, "result.json")); dir != "" && err == nil {
			return fmt.Errorf("run: %s %w a result; choose another folder or remove it", dir, ErrHeld)
		}
	}
	return nil
}

func (f *folder) path(name string) string { return filepath.Join(f.dir, name) }

// sub returns the path of a folder within the run folder, "" for a nil folder.
func (f *folder) sub(name string) string {
	if f == nil {
		return ""
	}
	return f.path(name)
}

// write replaces a file atomically: a reader sees the old content or the new, also when the disk is full.
func (f *folder) write(name string, content []byte) error {
	if f == nil {
		return nil
	}
	if err := whole.Write(f.path(name), content, 0o644); err != nil {
		return fmt.Errorf("run: write %s: %w", f.path(name), err)
	}
	return nil
}

// bare strips the path from an error, for messages that already name the path.
func bare(err error) error {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// finish writes the results and the reports. An error of one file does not keep it from writing the others; it returns
// the first error. When the run broke rules and explain is not nil, finish also writes rulebook.html, which the report
// links to.
func (f *folder) finish(r *model.Result, explain func([]string) (*model.Rulebook, error)) (first error) {
	if f == nil {
		return nil
	}
	r.Report = f.path("report.html")
	if ids := r.Broken(); explain != nil && len(ids) > 0 {
		r.Rulebook = "rulebook.html"
		first = f.put(r.Rulebook, func(w io.Writer) error {
			b, err := explain(ids)
			if err != nil {
				return err
			}
			return html.Rulebook(w, b)
		})
	}
	for _, out := range []struct {
		name  string
		write func(io.Writer) error
	}{
		{"verdicts.json", func(w io.Writer) error { return quote.JSON(w, r.Verdicts) }},
		{"result.json", func(w io.Writer) error { return quote.JSON(w, r) }},
		{"junit.xml", func(w io.Writer) error { return junit.Write(w, r) }},
		{"summary.md", func(w io.Writer) error { return markdown.Write(w, r) }},
		{"report.html", func(w io.Writer) error { return html.Write(w, r) }},
	} {
		first = cmp.Or(first, f.put(out.name, out.write))
	}
	return first
}

// put writes a file of the run folder.
func (f *folder) put(name string, write func(io.Writer) error) error {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return err
	}
	return f.write(name, b.Bytes())
}

// store is a Sink that writes trace.ndjson up to a limit of packet records. A write error does not stop the run; close
// returns it.
type store struct {
	file          *os.File
	out           *ndjson.Writer
	limit         int // of packet records
	kept, dropped int
	at            vtime.Time // of the last record that was written
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
	out, err := ndjson.NewWriter(file, &h)
	if err != nil {
		_ = file.Close() // nothing is in it
		return nil, fmt.Errorf("run: write %s: %w", file.Name(), bare(err))
	}
	return &store{file: file, out: out, limit: limit}, nil
}

// full reports whether the store only counts further packets.
func (s *store) full() bool { return s.out == nil || s.kept >= s.limit }

// Packet implements trace.Sink.
func (s *store) Packet(r *trace.Record) {
	if s.full() {
		s.dropped++
		return
	}
	s.kept++
	s.at = r.Time()
	s.out.Packet(r)
}

// Event implements trace.Sink.
func (s *store) Event(e *trace.Event) {
	if !s.full() {
		s.out.Event(e)
	}
}

// End implements trace.Sink. A trace that the limit cut ends at its last record; otherwise a judge would take the rest
// of the run for silence.
func (s *store) End(at vtime.Time) {
	if s.out == nil {
		return
	}
	if s.dropped > 0 {
		at = s.at
	}
	s.out.End(at)
}

// close flushes and closes the file, and returns the first write error.
func (s *store) close() error {
	if s.out == nil {
		return nil
	}
	err := s.out.Flush()
	if closeErr := s.file.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("run: write %s: %w", s.file.Name(), bare(err))
	}
	return nil
}
