// Package fault says whose fault an error is, where the exit code of a command depends on it. It knows no exit codes: a
// command makes them of what it finds here.
package fault

import (
	"errors"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/quote"
)

// Kind is who is at fault.
type Kind int

// The kinds. An error that says nothing is None: its reader knows best.
const (
	None    Kind = iota
	User         // what was asked for cannot be: a mistake in a flag, a name or a file
	Harness      // the harness broke, or its link was not what it should have been
)

// fault is an error with its kind.
type fault struct {
	kind Kind
	err  error
}

// Error implements error.
func (f *fault) Error() string { return f.err.Error() }

// Unwrap returns the error itself.
func (f *fault) Unwrap() error { return f.err }

// Usage marks err as the user's. It is nil when err is.
func Usage(err error) error { return mark(User, err) }

// Broken marks err as the harness's. It is nil when err is.
func Broken(err error) error { return mark(Harness, err) }

func mark(kind Kind, err error) error {
	if err == nil {
		return nil
	}
	return &fault{kind, err}
}

// Of returns the kind of err: the outermost mark counts.
func Of(err error) Kind {
	var f *fault
	if errors.As(err, &f) {
		return f.kind
	}
	return None
}

// OneLine is an error in one line of bounded length: what was joined is set apart by semicolons. What others said in it
// cannot do anything to a terminal or to the log of a CI job.
func OneLine(err error) string {
	return quote.Line(strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", "; "), quote.Message)
}
