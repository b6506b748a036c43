package bench

import (
	"errors"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
)

// choosing is an implementation that raises its queue depth by one.
func choosing(note string, err error) engine.Implementation {
	return engine.Implementation{QueueDepth: func(q engine.QP) (int, string, error) {
		return q.QueueDepth + 1, note, err
	}}
}

// Each implementation chooses for its own end, once, in the job's copy of the Spec; a note of both ends appears once.
func TestNewJob(t *testing.T) {
	s := scenario.Default()
	s.QP[0].QueueDepth, s.QP[1].QueueDepth = 5, 7
	before := s.Hash()
	job, err := NewJob(s, [2]engine.Implementation{choosing("deep", nil), choosing("deep", nil)})
	if err != nil || job.Spec.QP[0].QueueDepth != 6 || job.Spec.QP[1].QueueDepth != 8 || len(job.Notes) != 1 ||
		job.Fitted() != nil {
		t.Errorf("%+v, %v", job, err)
	}
	if s.Hash() != before || job.Spec.Hash() == before {
		t.Errorf("the Spec that was given is %s, was %s; the job's is %s", s.Hash(), before, job.Spec.Hash())
	}
	job, err = NewJob(s, [2]engine.Implementation{})
	if err != nil || job.Spec.Hash() != before || job.Notes != nil {
		t.Errorf("nobody chose: %+v, %v", job, err)
	}
	why := errors.New("no rate")
	var unfit *Unfit
	if _, err = NewJob(s, [2]engine.Implementation{{}, choosing("", why)}); !errors.As(err, &unfit) ||
		!errors.Is(err, why) || err.Error() != "no rate" {
		t.Errorf("%v", err)
	}
	if (&Job{Spec: s}).Fitted() == nil {
		t.Error("a job that NewJob did not make is taken")
	}
}
