package bench

import (
	"errors"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Job is one run as a bench sees it. NewJob makes it, and a bench runs no other.
type Job struct {
	Spec  *scenario.Spec           // with the attributes that the implementations chose
	Impls [2]engine.Implementation // at A and B
	Notes []string                 // what the user should know of their choices
	Taps  string                   // folder for the captures; "" keeps none
	Bytes bool                     // virtual time: encode every packet (real benches always do)
	Link  string                   // real benches: "auto", "netem", "ebpf" or "relay"

	// Dilation is how many seconds of the machine a second of the Spec lasts on a real bench. It is of the bench and
	// not of the Spec: what a trace of the run says is in the Spec's time.
	Dilation vtime.Dilation    // 0 leaves it to the bench, which chooses Least at least
	Least    vtime.Dilation    // a smaller one was not enough
	Chosen   func(what string) // is told of a factor above 1 and its cost before the run; may be nil

	// NoProgress is how long a run in real time may stand still while work is left; 0 is a default, see Patience.
	NoProgress vtime.Duration

	// Open is called once, before the first record, and returns where the trace goes.
	Open func(trace.Header) (trace.Sink, error)
	// Progress is called now and then with the share of the run that is done, 0 to 1, and what is happening.
	Progress func(share float64, what string)

	fitted bool
}

// NewJob makes the job of a Spec with the implementations at its two ends, which choose the attributes that they choose
// themselves: see engine.Implementation.QueueDepth. The Spec that was given stays as it is. The error is Unfit.
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

// Unwrap returns what the implementation said.
func (u *Unfit) Unwrap() error { return u.Err }

// Fitted returns an error for a job that was not made by NewJob. A bench asks before it makes anything.
func (j *Job) Fitted() error {
	if !j.fitted {
		return errors.New("bench: the implementations have not seen the Spec of this job; make it with NewJob")
	}
	return nil
}
