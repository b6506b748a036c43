package run

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/capture"
	"github.com/rdma-gauntlet/gauntlet/harness/recording"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// captures are the captures of a run in virtual time; on other benches the bench writes them. They are optional, but
// without them the frames cannot be judged again, because the text of a trace does not contain them. The zero captures
// keep nothing.
type captures struct {
	trace.Views
	all []*tapFile
}

// tapFile is the capture of one tap.
type tapFile struct {
	file   *os.File
	buffer *bufio.Writer
	writer *capture.Writer
}

// openTaps creates the captures in the folder of a run, one for each end of each hop.
func openTaps(f *folder, h *trace.Header) (t captures, err error) {
	dir := f.path(recording.TapsName)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return t, fmt.Errorf("run: captures: %w", err)
	}
	hops := []trace.Hop{trace.Whole}
	if h.Divided() {
		hops = []trace.Hop{trace.LANHop, trace.WANHop}
	}
	for _, hop := range hops {
		for _, side := range []trace.Side{trace.A, trace.B} {
			if err := t.add(dir, h, capture.Tap{Side: side, Hop: hop, Device: "sim"}); err != nil {
				return t, errors.Join(fmt.Errorf("run: captures: %w", err), t.close())
			}
		}
	}
	return t, nil
}

// add creates the capture of a tap.
func (t *captures) add(dir string, h *trace.Header, tap capture.Tap) error {
	file, err := os.Create(filepath.Join(dir, tap.File()))
	if err != nil {
		return err
	}
	buffer := bufio.NewWriterSize(file, 1<<18)
	w, err := capture.NewWriter(buffer, h, tap, time.Time{})
	if err != nil {
		return errors.Join(err, file.Close())
	}
	t.all, t.Views = append(t.all, &tapFile{file, buffer, w}), append(t.Views, w)
	return nil
}

// close flushes and closes the files; it returns the first error.
func (t *captures) close() (first error) {
	for _, f := range t.all {
		skipped, err := f.writer.Flush()
		if skipped > 0 {
			err = cmp.Or(err, fmt.Errorf("%d frames had no bytes; run with the codec", skipped))
		}
		err = cmp.Or(err, f.buffer.Flush(), f.file.Close())
		if err != nil {
			first = cmp.Or(first, fmt.Errorf("run: write %s: %w", f.file.Name(), bare(err)))
		}
	}
	return first
}
