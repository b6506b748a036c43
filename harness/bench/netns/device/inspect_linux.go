package device

import (
	"errors"
	"fmt"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/dut"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// The state of a device beyond its packets is read by means that every kernel offers: the memory of the tool by /proc,
// its counters by a stock program, its completions by tracing. The tool takes no part in it.

// inspected holds the state that was read in this way. State that could not be read is not reported.
type inspected struct {
	before     []byte      // the region that the tool reports, before the run
	compared   bool        // the region could be read again
	changed    []dut.Range // and is not as it was there
	violations int64       // Q_Key violations
	completed  []int       // statuses of the tool's completions, nil when this kernel does not show them
}

// lookBefore reads the memory of a tool before its peer can reach it, and watches its completions.
func (r *running) lookBefore() {
	r.found.violations = dut.Unread
	if r.tool.Tells()&trace.ReportChanges != 0 {
		r.found.before = r.memory()
	}
	if r.tool.Tells()&trace.ReportFlushed != 0 {
		r.watched, _ = r.place.Watch() // without it, completions are not reported
	}
}

// lookAfter reads the same state again, and the counters, when the endpoints have stopped. A tool that prints its
// results at its end is ended now, when no tap captures any more.
func (r *running) lookAfter() error {
	told := r.tool.Tells()
	if told&trace.ReportChanges != 0 {
		r.compare(r.memory())
	}
	if told&trace.ReportDatagrams != 0 {
		info, err := r.place.Run(dut.InfoProgram, dut.InfoArgs(r.at.Device)...)
		if err == nil {
			r.found.violations, err = dut.QKeyViolations(info)
		}
		if err != nil {
			return fmt.Errorf("netns: counters of %s by %s: %w; install ibverbs-utils", r.at.Device,
				dut.InfoProgram, err)
		}
	}
	if r.watched != nil {
		completed, err := r.watched.Of(r.meeting.Peer.QPN)
		if err = errors.Join(err, r.watched.Close()); err != nil {
			return fmt.Errorf("netns: completions of %s by the kernel's tracing: %w", r.at.Device, err)
		}
		r.found.completed = completed
	}
	if told&trace.ReportOrdered != 0 {
		return r.hangUp()
	}
	return nil
}

// hangUp ends the exchange, and waits a second for the tool to end by itself.
func (r *running) hangUp() error {
	err := r.meeting.Close()
	select {
	case <-r.exited:
	case <-time.After(time.Second):
	}
	return err
}

// memory reads the region that the tool reports; nil when it cannot be read.
func (r *running) memory() []byte {
	b, err := r.process.Memory(r.meeting.Peer.Buffer, r.tool.Extent())
	if err != nil {
		return nil
	}
	return b
}

// compare records the changes of the region.
func (r *running) compare(after []byte) {
	if n := len(r.found.before); n > 0 && n == len(after) {
		r.found.compared, r.found.changed = true, changes(r.found.before, after, r.meeting.Peer.Buffer)
	}
}

// changes returns the ranges of a region at va that have changed.
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

// ending returns the end of the tool's work, in the time of a run that began at epoch and ended at cut. A later end was
// caused by the bench.
func (r *running) ending(epoch, cut vtime.Time) dut.Ending {
	e := dut.Ending{Done: vtime.Never, Gone: vtime.Never, Said: r.said.String(), End: cut,
		Compared: r.found.compared, Changed: r.found.changed, Violations: r.found.violations,
		Completed: r.found.completed}
	since := func(at vtime.Time) vtime.Time {
		if at == vtime.Never || at.Sub(epoch) > cut.Sub(0) {
			return vtime.Never
		}
		return vtime.Time(at.Sub(epoch))
	}
	if r.idle() {
		e.Done = since(r.doneAt)
	}
	select {
	case <-r.exited:
		e.Gone = since(r.goneAt)
	default:
	}
	return e
}
