package metrics

import (
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// arriving returns a collector for flows that take a microsecond per byte without others.
func arriving() *Collector {
	return NewCollector(&trace.Header{Conns: make([]trace.Conn, 1)}, Options{
		Ideal: func(_ trace.Side, n uint32) vtime.Duration { return vtime.Duration(n) * vtime.Microsecond },
	})
}

// complete reports a flow that was posted at a time after a wait, and its completion after took.
func complete(c *Collector, id uint64, size uint32, at vtime.Time, waited, took vtime.Duration, status engine.Status) {
	c.Event(&trace.Event{At: at, Kind: trace.Post, Body: engine.Event{ID: id}, Len: size, Value: int64(waited)})
	c.Event(&trace.Event{At: at.Add(took), Kind: trace.CQE, Body: engine.Event{ID: id, Status: status}})
}

const us = vtime.Microsecond

// The duration of a flow starts with its arrival, not with its posting.
func TestSlowdownCountsWaiting(t *testing.T) {
	c := arriving()
	complete(c, 0, 10, 50, 5*us, 15*us, engine.StatusSuccess)
	s := c.Summary().Slowdown
	if s.All.P50 != 2 || s.All.Count != 1 || len(s.Groups) != 1 {
		t.Errorf("%+v: want one flow of slowdown 2", s)
	}
}

// Groups hold equally many flows in the order of size, whatever the order of completion.
func TestSlowdownBySize(t *testing.T) {
	c := arriving()
	for i := range 200 {
		size := uint32(200 - i)
		complete(c, uint64(i), size, 0, 0, vtime.Duration(size)*us*vtime.Duration(1+size/101), engine.StatusSuccess)
	}
	s := c.Summary().Slowdown
	if len(s.Groups) != groups || s.All.Smallest != 1 || s.All.Largest != 200 {
		t.Fatalf("%d groups from %d to %d", len(s.Groups), s.All.Smallest, s.All.Largest)
	}
	for i, g := range s.Groups {
		want := 1.0
		if i >= groups/2 {
			want = 2
		}
		if g.Count != 10 || g.Smallest != g.Largest-9 || g.P50 != want || g.P99 != want {
			t.Errorf("group %d: %+v, want ten sizes of slowdown %v", i, g, want)
		}
	}
}

// Failed flows have no slowdown, and a run with one size has one group.
func TestSlowdownOfWhatCompleted(t *testing.T) {
	c := arriving()
	if s := c.Summary().Slowdown; s != nil {
		t.Errorf("no flow, and a slowdown of %+v", s)
	}
	for i := range uint64(40) {
		status := engine.StatusSuccess
		if i%2 == 1 {
			status = engine.StatusFlushed
		}
		complete(c, i, 8, 0, 0, vtime.Duration(i+1)*us, status)
	}
	if s := c.Summary().Slowdown; s.All.Count != 20 || len(s.Groups) != 1 || s.All.P95 != 37./8 {
		t.Errorf("%+v: want 20 flows in one group, 95 %% of them up to %v", s, 37./8)
	}
}
