package station

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Paths of the kernel's tracing, and names of this program's probe and buffer there. Soft-RoCE is in one namespace, and
// so is a single run of it.
const (
	tracing        = "/sys/kernel/tracing/"
	tracingProbes  = tracing + "kprobe_events"
	tracingBuffer  = tracing + "instances/gauntlet"
	completionName = "gauntlet/completion"
)

// completionProbe is at the function by which soft-RoCE adds a completion to a queue, rxe_cq_post(cq, cqe, solicited).
// The entry begins as struct ib_uverbs_wc of rdma/ib_user_verbs.h: its number, at byte 8 the status, at byte 28 the
// queue pair.
const completionProbe = "p:" + completionName + " rxe_cq_post status=+8($arg2):u32 qp=+28($arg2):u32\n"

// Completions records the completions that soft-RoCE adds to completion queues, including those that no program reads
// any more: every stock tool stops at the first completion that failed.
type Completions struct{}

// WatchCompletions starts recording; an error means that this kernel does not allow it.
func WatchCompletions() (*Completions, error) {
	c := &Completions{}
	if err := c.Close(); err != nil { // left by a run that was killed
		return nil, err
	}
	if err := appendTo(tracingProbes, completionProbe); err != nil {
		return nil, err
	}
	err := os.Mkdir(tracingBuffer, 0o700)
	if err == nil {
		err = appendTo(tracingBuffer+"/events/"+completionName+"/enable", "1")
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// Of returns the statuses, by the numbers of libibverbs, of the completions of a queue pair so far, in order; nil when
// some have been lost.
func (c *Completions) Of(qpn uint32) ([]int, error) {
	text, err := os.ReadFile(tracingBuffer + "/trace")
	return completed(string(text), qpn), err
}

// completed reads the kernel's text: "# entries-in-buffer/entries-written: 2/2" above, and a line for each completion.
func completed(text string, qpn uint32) (statuses []int) {
	for line := range strings.Lines(text) {
		if _, counts, ok := strings.Cut(line, "entries-in-buffer/entries-written: "); ok {
			var kept, written int
			if n, _ := fmt.Sscanf(counts, "%d/%d", &kept, &written); n != 2 || kept != written {
				return nil
			}
		}
		var status int
		var qp uint32
		_, event, _ := strings.Cut(line, " completion: ")
		_, values, _ := strings.Cut(event, ") ")
		if n, _ := fmt.Sscanf(values, "status=%d qp=%d", &status, &qp); n == 2 && qp == qpn {
			statuses = append(statuses, status)
		}
	}
	return statuses
}

// Close removes the probe and its records, if there are any.
func (c *Completions) Close() error {
	var failed []error
	for _, step := range []func() error{
		func() error { return appendTo(tracingBuffer+"/events/"+completionName+"/enable", "0") },
		func() error { return unix.Rmdir(tracingBuffer) },
		func() error { return appendTo(tracingProbes, "-:"+completionName+"\n") },
	} {
		if err := step(); err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

// appendTo appends to a file of the kernel, which would discard the entries of others if it were opened for
// overwriting.
func appendTo(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}
