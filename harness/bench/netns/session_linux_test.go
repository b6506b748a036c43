package netns

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// The trace ends at the cut: no later entry is in it, except the comparison of memory, which gets the time of the cut.
func TestWeaveEndsAtTheCut(t *testing.T) {
	var cut trace.Collector
	w := &weave{sinks: []trace.Sink{&cut}, cut: 100, events: []trace.Event{
		{At: 10, Value: 1}, {At: 50, Value: 2}, {At: 99, Value: 3}, {At: 101, Value: 4},
		{At: 500, Kind: trace.Memory, Value: 5},
	}}
	for _, sent := range []vtime.Time{20, 50, 100, 101, 300} {
		w.Packet(&trace.Record{Sent: sent, Recv: sent + 40})
	}
	w.End(340)
	if len(cut.Records) != 3 || cut.Ended != 100 {
		t.Errorf("%d records until the cut, end at %d", len(cut.Records), cut.Ended)
	}
	var values []int64
	for _, e := range cut.Events {
		values = append(values, e.Value)
	}
	if d := cmp.Diff([]int64{1, 2, 3, 5}, values); d != "" || cut.Events[3].At != 100 {
		t.Errorf("events %s", d)
	}
}

// An endpoint may wait for exactly as long as the rules allow before the run is INVALID.
func TestHostIsJudgedByWhatRulesAllow(t *testing.T) {
	if promptLeast != rule.Drain {
		t.Errorf("an endpoint may wait for %v, and rules allow it %v", promptLeast, rule.Drain)
	}
}

// A line may be idle for the bench's share of a run, or for a smaller one that the job asks for, never a larger one.
func TestIdleLineIsBounded(t *testing.T) {
	const ms = vtime.Millisecond
	for _, c := range []struct {
		starved vtime.Duration
		asked   float64
		ok      bool
	}{
		{30 * ms, 0, true}, {31 * ms, 0, false},
		{4 * ms, 0.004, true}, {5 * ms, 0.004, false},
		{30 * ms, 0.5, true}, {31 * ms, 0.5, false},
	} {
		if item := idled("endpoint A", c.starved, vtime.Second, c.asked); item.OK != c.ok ||
			item.Property != validity.Pace {
			t.Errorf("%+v: %+v", c, item)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
