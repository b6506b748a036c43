package netns

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/dut"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// A device shows more than its packets by what every kernel offers: the memory of the tool by /proc, its counters by a stock
// program, its completions by tracing. None needs the tool to do anything.

// inspected is what was found in that way. What could not be read is not told.
type inspected struct {
	before     []byte      // the region that the tool tells of, as it was
	compared   bool        // it could be read again
	changed    []dut.Range // and is not as it was there
	violations int64       // of the Q_Key
	completed  []int       // statuses of its completions, nil when this kernel does not tell
}

// lookBefore reads the memory of a tool before its peer can reach it, and watches its completions.
func (h *foreign) lookBefore() {
	h.found.violations = dut.Unread
	if h.Tool.Tells()&trace.ReportChanges != 0 {
		h.found.before = h.memory()
	}
	if h.Tool.Tells()&trace.ReportFlushed != 0 {
		h.watched, _ = watchCompletions() // without, nothing is told of them
	}
}

// lookAfter reads the same again, and the counters, when the endpoints have stopped. A tool that prints what it did when it ends is
// ended, because no tap watches any more.
func (h *foreign) lookAfter() error {
	told := h.Tool.Tells()
	if told&trace.ReportChanges != 0 {
		h.compare(h.memory())
	}
	if told&trace.ReportDatagrams != 0 {
		info, err := exec.Command(dut.InfoProgram, dut.InfoArgs(h.at.Device)...).Output()
		if err == nil {
			h.found.violations, err = dut.QKeyViolations(string(info))
		}
		if err != nil {
			return fmt.Errorf("netns: counters of %s by %s: %w; install ibverbs-utils", h.at.Device, dut.InfoProgram, err)
		}
	}
	if h.watched != nil {
		completed, err := h.watched.of(h.meeting.Peer.QPN)
		if err = errors.Join(err, h.watched.close()); err != nil {
			return fmt.Errorf("netns: completions of %s by the kernel's tracing: %w", h.at.Device, err)
		}
		h.found.completed = completed
	}
	if told&trace.ReportOrdered != 0 {
		return h.hangUp()
	}
	return nil
}

// hangUp ends the exchange, and waits for the tool to end by itself.
func (h *foreign) hangUp() error {
	err := h.meeting.Close()
	select {
	case <-h.exited:
	case <-time.After(time.Second):
	}
	return err
}

// memory reads the region that the tool tells of; nil when it cannot be read.
func (h *foreign) memory() []byte {
	f, err := os.Open(fmt.Sprintf("/proc/%d/mem", h.child.Process.Pid))
	if err != nil {
		return nil
	}
	defer f.Close()
	b := make([]byte, h.Tool.Extent())
	if _, err := f.ReadAt(b, int64(h.meeting.Peer.Buffer)); err != nil {
		return nil
	}
	return b
}

// compare notes what has changed in the region.
func (h *foreign) compare(after []byte) {
	if n := len(h.found.before); n > 0 && n == len(after) {
		h.found.compared, h.found.changed = true, changes(h.found.before, after, h.meeting.Peer.Buffer)
	}
}

// changes are the ranges of a region at va that are not what they were.
func changes(before, after []byte, va uint64) (list []dut.Range) {
	for i := range before {
		switch n := len(list); {
		case before[i] == after[i]:
		case n > 0 && list[n-1].VA+uint64(list[n-1].Len) == va+uint64(i):
			list[n-1].Len++
		default:
			list = append(list, dut.Range{VA: va + uint64(i), Len: 1})
		}
	}
	return list
}

// ending is how the tool's work ended, in the time of a run that began at epoch and ended at cut. What happens to the tool later was
// done to it.
func (h *foreign) ending(epoch, cut vtime.Time) dut.Ending {
	e := dut.Ending{Done: vtime.Never, Gone: vtime.Never, Said: h.said.String(), End: cut,
		Compared: h.found.compared, Changed: h.found.changed, Violations: h.found.violations, Completed: h.found.completed}
	since := func(at vtime.Time) vtime.Time {
		if at == vtime.Never || at.Sub(epoch) > cut.Sub(0) {
			return vtime.Never
		}
		return vtime.Time(at.Sub(epoch))
	}
	if h.idle() {
		e.Done = since(h.doneAt)
	}
	select {
	case <-h.exited:
		e.Gone = since(h.goneAt)
	default:
	}
	return e
}
