package bench

import (
	"errors"

	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// Fault is the error of a run that one of its ends kept from coming to its end: a program or device under test that
// crashed, stalled, was not done in time or broke the contract, and in virtual time an engine that never comes to an
// end. The end is to blame, so that the run is a FAIL, and its trace is good as far as it goes. Any other error of a
// Bench is the harness's own.
type Fault struct {
	Side    trace.Side // which end
	Program string     // what stands there, as Spec.Impl names it, or the tool of a device
	Err     error      // what it did, in one line that names it
}

// Error implements error.
func (f *Fault) Error() string { return f.Err.Error() }

// Unwrap returns what the end did.
func (f *Fault) Unwrap() error { return f.Err }

// FaultOf returns the fault that an error is, nil when it is none.
func FaultOf(err error) *Fault {
	var f *Fault
	if errors.As(err, &f) {
		return f
	}
	return nil
}

// Graver returns the error that counts of two that came one after the other: the first, unless that blames an end and
// the second the harness, whose failure may be the cause of both.
func Graver(first, second error) error {
	if first == nil || second != nil && FaultOf(first) != nil && FaultOf(second) == nil {
		return second
	}
	return first
}
