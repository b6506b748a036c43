package bench

import (
	"errors"

	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
)

// Fault is the error of a run that one of its ends prevented from completing: a program or device under test that
// crashed, stalled, was not done in time or broke the contract, and in virtual time an engine that never finishes. The
// end is responsible, so that the run is a FAIL, and its trace is valid as far as it goes. Any other error of a Bench
// is the harness's own.
type Fault struct {
	Side    trace.Side // the end that is responsible
	Program string     // implementation at that end, as Spec.Impl names it, or the tool of a device
	Err     error      // error of the end, in one line that names the end

	// the properties of link, capture and host on which the blame rests: everything, the zero value, for an end that was
	// not done in time, and validity.Frames for one that crashed or broke the contract, however late the link was
	Rests validity.Property
}

// Error implements error.
func (f *Fault) Error() string { return f.Err.Error() }

// Unwrap returns the error of the end.
func (f *Fault) Unwrap() error { return f.Err }

// FaultOf returns the fault that err wraps, nil when there is none.
func FaultOf(err error) *Fault {
	var f *Fault
	if errors.As(err, &f) {
		return f
	}
	return nil
}

// Graver returns the more important of two successive errors: the first, unless it blames an end and the second the
// harness, whose failure may have caused both.
func Graver(first, second error) error {
	if first == nil || second != nil && FaultOf(first) != nil && FaultOf(second) == nil {
		return second
	}
	return first
}
