// Package fault marks errors with who is at fault, from which a command derives its exit code. The package knows no
// exit codes.
package fault

import (
	"errors"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/quote"
)

// Kind says who is at fault.
type Kind int

// The kinds. An error without a mark is None; its caller decides.
const (
	None    Kind = iota
	User         // a mistake of the user: in a flag, a name or a file
	Harness      // the harness broke, or its link was not as the Spec says
	Program      // a program under test breaks the contract before there is a run that could fail
)

// fault is an error with a mark.
type fault struct {
	kind Kind
	err  error
}

// Error implements error.
func (f *fault) Error() string { return f.err.Error() }

// Unwrap returns the marked error.
func (f *fault) Unwrap() error { return f.err }

// Usage marks err as the user's. It returns nil for nil.
func Usage(err error) error { return mark(User, err) }

// Broken marks err as the harness's. It returns nil for nil.
func Broken(err error) error { return mark(Harness, err) }

// Theirs marks err as that of a program under test. It returns nil for nil.
func Theirs(err error) error { return mark(Program, err) }

func mark(kind Kind, err error) error {
	if err == nil {
		return nil
	}
	return &fault{kind, err}
}

// Of returns the kind of the outermost mark of err.
func Of(err error) Kind {
	var f *fault
	if errors.As(err, &f) {
		return f.kind
	}
	return None
}

// OneLine returns the text of an error as one line of bounded length, with joined errors separated by semicolons. Text
// of others in it is escaped, so that it cannot change a terminal or the log of a CI job.
func OneLine(err error) string {
	return quote.Line(strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", "; "), quote.Message)
}
