package bench

import (
	"errors"
	"fmt"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Of two errors, that of the harness is graver, and of two of a kind the first.
func TestGraver(t *testing.T) {
	end := fmt.Errorf("while running: %w", &Fault{Program: "mine", Err: errors.New("it ended")})
	late, own := &Fault{Err: errors.New("late")}, errors.New("the relay died")
	for _, c := range []struct{ first, second, want error }{
		{nil, nil, nil}, {end, nil, end}, {nil, end, end}, {end, late, end}, {end, own, own}, {own, end, own},
		{own, errors.New("x"), own},
	} {
		if got := Graver(c.first, c.second); got != c.want {
			t.Errorf("%v, %v: %v", c.first, c.second, got)
		}
	}
	if f := FaultOf(end); f == nil || f.Program != "mine" || FaultOf(own) != nil || FaultOf(nil) != nil {
		t.Errorf("%+v", f)
	}
}

// A run may make no progress for as long as its slowest timer explains, at least ten seconds.
func TestPatience(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Job)
		want   vtime.Duration
	}{
		{"default", func(*Job) {}, 10 * vtime.Second},
		{"asked for", func(j *Job) { j.NoProgress = 3 * vtime.Second }, 3 * vtime.Second},
		{"slow timer at B", func(j *Job) { j.Spec.QP[1].RTO, j.Spec.QP[1].RetryCount = 2*vtime.Second, 7 },
			64 * vtime.Second},
		{"no timer", func(j *Job) { j.Spec.QP[0].RTO, j.Spec.QP[0].Timeout = 0, 0 }, 10 * vtime.Second},
		{"far away", func(j *Job) { j.Spec.Link.AB.Delay, j.Spec.Link.BA.Delay = 4*vtime.Second, 4*vtime.Second },
			32 * vtime.Second},
		{"slow line", func(j *Job) { j.Spec.Link.BA.Rate = 1000 }, 4 * unit.Rate(1000).Time(1024+roce.Overhead)},
		{"TCP", func(j *Job) {
			j.Impls[0].NewStream = func(engine.QP, engine.Memory) (engine.Stream, error) { return nil, nil }
		}, 150 * vtime.Second},
		{"seldom", func(j *Job) { j.Spec.Loads[0].Every = 20 * vtime.Second }, 40 * vtime.Second},
		{"now and then", func(j *Job) {
			l := &j.Spec.Loads[0]
			j.Spec.Link.AB.Rate, l.Msg, l.Offered = 8000, 1000, 0.5 // one message in two seconds
		}, 60 * vtime.Second},
	} {
		s := scenario.Default()
		s.Loads = []scenario.Load{{Op: engine.OpWrite, Msg: 1000, Count: 1}}
		job := &Job{Spec: s}
		if c.change(job); job.Patience(1) != c.want {
			t.Errorf("%s: %s, want %s", c.name, job.Patience(1), c.want)
		}
	}
}
