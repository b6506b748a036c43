package contract

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// Limits of a program's output. Without them a flood of reports would exhaust the memory or the time of the bench.
const (
	LineLimit  = 64 << 10 // bytes of a line
	imageLimit = 64 << 20 // bytes of a line of a program that declares "memory"
	lineCount  = 1 << 20  // lines of a run
)

// Dialog reads the reports of a program and checks that they come in the order of the contract. It is for one
// goroutine.
type Dialog struct {
	in   *bufio.Reader
	line int
	caps *Capabilities
	last string // event of the last line that moved the conversation on: see before
	at   int64  // time of the last report, in nanoseconds of CLOCK_MONOTONIC
}

// NewDialog returns the dialog with a program that has just been started.
func NewDialog(stdout io.Reader) *Dialog { return &Dialog{in: bufio.NewReaderSize(stdout, LineLimit)} }

// Next returns the next report of the program. The error is io.EOF when the program has closed its output between two
// lines, and otherwise one line that names the number of the offending line.
func (d *Dialog) Next() (Report, error) {
	line, err := d.read()
	if err != nil {
		return Report{}, err
	}
	r, err := DecodeReport(line)
	if err == nil {
		err = d.follow(&r)
	}
	if err != nil {
		return r, fmt.Errorf("line %d: %w", d.line, err)
	}
	return r, nil
}

// read takes one line, of bounded length.
func (d *Dialog) read() ([]byte, error) {
	if d.line++; d.line > lineCount {
		return nil, fmt.Errorf("line %d: it said more than %d lines; report less", d.line, lineCount)
	}
	limit := LineLimit
	if d.caps != nil && d.caps.Tells("memory") {
		limit = imageLimit
	}
	var whole []byte
	for {
		part, err := d.in.ReadSlice('\n')
		whole = append(whole, part...)
		switch {
		case len(whole) > limit:
			return nil, fmt.Errorf("line %d: longer than %d bytes: %.40q…", d.line, limit, whole)
		case err == nil:
			return whole[:len(whole)-1], nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(whole) == 0:
			return nil, io.EOF
		case errors.Is(err, io.EOF):
			return nil, fmt.Errorf("line %d: %.40q has no end", d.line, whole)
		default:
			return nil, fmt.Errorf("line %d: %w", d.line, err)
		}
	}
}

// follow checks that a line may come now.
func (d *Dialog) follow(r *Report) error {
	switch r.Event {
	case SaysError:
		return nil
	case SaysCapabilities:
		if d.caps != nil {
			return errors.New("capabilities said twice")
		}
		d.caps = r.Capabilities
	default:
		if d.caps == nil {
			return fmt.Errorf("%s before capabilities, which come first", r.Event)
		}
	}
	switch r.Event {
	case SaysReady, SaysStopped, SaysVerified:
		if want := before[r.Event]; d.last != want {
			return fmt.Errorf("%s after %q; want it after %q", r.Event, d.last, want)
		}
	case SaysPosted, SaysReceive, SaysCompleted, SaysReceived, SaysDeclared, SaysLost, SaysIdle, SaysBusy,
		SaysShare:
		if d.last != SaysReady {
			return fmt.Errorf("%s after %q; want it between ready and stopped", r.Event, d.last)
		}
		return d.order(r)
	case SaysCounter, SaysState:
		return nil
	}
	d.last = r.Event
	return nil
}

// before maps the event of each line that moves the conversation on to the event that must precede it.
var before = map[string]string{SaysReady: SaysCapabilities, SaysStopped: SaysReady, SaysVerified: SaysStopped}

// order checks that the times of reports do not decrease.
func (d *Dialog) order(r *Report) error {
	if r.Event == SaysIdle || r.Event == SaysBusy || r.Event == SaysShare {
		return nil
	}
	if r.At < d.at {
		return fmt.Errorf("%s: at_ns %d is before the line before it (%d); say events in the order of their times",
			r.Event, r.At, d.at)
	}
	d.at = r.At
	return nil
}
