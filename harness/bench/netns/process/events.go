package process

import (
	"fmt"
	"os"

	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/trace/ndjson"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// eventFile keeps the reports of a process as the events of an NDJSON trace.
type eventFile struct {
	file *os.File
	out  *ndjson.Writer
}

func newEventFile(role, path string, h trace.Header) (*eventFile, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("%s: events: %w", role, err)
	}
	w, err := ndjson.NewWriter(f, &h)
	return &eventFile{f, w}, err
}

// Event implements drive.Observer.
func (e *eventFile) Event(ev *trace.Event) { e.out.Event(ev) }

// flush makes what was reported so far readable: a run whose other end fails is judged by it.
func (e *eventFile) flush() error { return e.out.Flush() }

// end completes the file: nothing is reported after it.
func (e *eventFile) end(at vtime.Time) error {
	e.out.End(at)
	return e.out.Flush()
}
