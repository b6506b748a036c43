package bench

import (
	"errors"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Job is one run, the input of a bench. It must be made by NewJob.
type Job struct {
	Spec  *scenario.Spec           // includes the attributes that the implementations chose
	Impls [2]engine.Implementation // at A and B
	Notes []string                 // notes for the user on these choices
	Taps  string                   // folder for the captures; "" stores none
	Bytes bool                     // virtual time: encode every packet (real benches always do)
	Link  string                   // real benches: "auto", "netem", "ebpf" or "relay"

	// Dilation is the length of a second of the Spec on a real bench, in seconds of the machine. It belongs to the
	// bench and not to the Spec: the times in a trace of the run are those of the Spec.
	Dilation vtime.Dilation    // 0 lets the bench choose one, not below Least
	Least    vtime.Dilation    // a smaller Dilation was not enough
	Chosen   func(what string) // called before the run with a factor above 1 and its cost; may be nil

	// Idle is the largest share of a run for which an end may leave its line idle because it waits for a processor; 0 is
	// the bench's own limit. A run whose goodput is held against a closer bound needs a smaller one.
	Idle float64

	// NoProgress is the time for which a run in real time may be without progress while work is left; 0 is the default,
	// see Patience.
	NoProgress vtime.Duration

	// Open is called once, before the first record, and returns the sink of the trace.
	Open func(trace.Header) (trace.Sink, error)
	// Progress is called from time to time with the share of the run that is done, 0 to 1, and the current step.
	Progress func(share float64, what string)

	fitted bool
}

// NewJob makes the job of a Spec with the implementations at its two ends, which choose some attributes themselves: see
// engine.Implementation.QueueDepth. The Spec that was given is not changed. The error is Unfit.
func NewJob(s *scenario.Spec, impls [2]engine.Implementation) (*Job, error) {
	fitted := *s
	job := &Job{Spec: &fitted, Impls: impls, fitted: true}
	ends := s.Ends(0)
	for side := range impls {
		choose := impls[side].QueueDepth
		if choose == nil {
			continue
		}
		depth, note, err := choose(ends[side])
		if err != nil {
			return nil, &Unfit{err}
		}
		fitted.QP[side].QueueDepth = depth
		if note != "" && !slices.Contains(job.Notes, note) {
			job.Notes = append(job.Notes, note)
		}
	}
	return job, nil
}

// Unfit is the error of a Spec on which an implementation cannot choose its attributes: the user has to write another.
type Unfit struct{ Err error }

// Error implements error.
func (u *Unfit) Error() string { return u.Err.Error() }

// Unwrap returns the error of the implementation.
func (u *Unfit) Unwrap() error { return u.Err }

// Fitted returns an error for a job that was not made by NewJob. A bench calls it first.
func (j *Job) Fitted() error {
	if !j.fitted {
		return errors.New("bench: the implementations have not seen the Spec of this job; make it with NewJob")
	}
	return nil
}
