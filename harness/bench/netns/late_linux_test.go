package netns

import (
	"errors"
	"fmt"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// A party that does not even stop is the cause of an overdue run, a harness process before a program under test.
func TestWhoIsToBlame(t *testing.T) {
	crash := faultAt(trace.A, "a", errors.New("netns: A ended"))
	lateA := faultAt(trace.A, "a", fmt.Errorf("netns: A: 1 of 9; %w", errStill))
	lateOurs := fmt.Errorf("netns: endpoint A: 1 of 9; %w", errLimit)
	hungA, hungB := faultAt(trace.A, "a", errors.New("netns: A did not stop")),
		faultAt(trace.B, "b", errors.New("netns: B did not stop"))
	relay := errors.New("netns: relay did not answer")
	for _, c := range []struct {
		err, halt error
		program   string // "" for the harness
		says      string
	}{
		{crash, nil, "a", "netns: A ended"},
		{crash, faultAt(trace.A, "a", errors.New("x")), "a", "netns: A ended"},
		{crash, relay, "", relay.Error()},
		{nil, hungB, "b", "netns: B did not stop"},
		{nil, relay, "", relay.Error()},
		{lateA, nil, "a", "netns: A: 1 of 9; nothing moved"},
		{lateA, hungA, "a", "netns: A: 1 of 9; nothing moved; A did not stop"},
		{lateA, hungB, "b", "netns: B did not stop; A: 1 of 9; nothing moved"},
		{lateA, relay, "", "netns: relay did not answer; A: 1 of 9; nothing moved"},
		{lateOurs, hungB, "b", "netns: B did not stop; endpoint A: 1 of 9; limit reached before the work was done"},
		{lateOurs, nil, "", lateOurs.Error()},
	} {
		got, program := halted(c.err, c.halt), ""
		if f := bench.FaultOf(got); f != nil {
			program = f.Program
		}
		if program != c.program || got.Error() != c.says {
			t.Errorf("%v, then %v: %q is to blame, %q", c.err, c.halt, program, got)
		}
	}
}
