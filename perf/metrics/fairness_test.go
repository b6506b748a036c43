package metrics

import (
	"math"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

func TestFairness(t *testing.T) {
	const ms = vtime.Time(vtime.Millisecond)
	type got struct {
		bytes int64
		at    vtime.Time
	}
	for _, c := range []struct {
		name   string
		halves []got
		timed  bool
		want   float64
	}{
		{"nobody", nil, false, 0},
		{"alone", []got{{1000, ms}}, false, 0},
		{"nothing came", []got{{0, 0}, {0, 0}}, false, 0},
		{"equal", []got{{1000, ms}, {1000, ms}, {1000, ms}}, false, 1},
		{"one has all", []got{{1000, ms}, {0, 0}, {0, 0}, {0, 0}}, false, 0.25},
		{"the same work in twice the time", []got{{1000, ms}, {1000, 2 * ms}}, false, 0.9},
		{"the same work in the time of the run", []got{{1000, ms}, {1000, 2 * ms}}, true, 1},
	} {
		col := NewCollector(&trace.Header{Conns: make([]trace.Conn, len(c.halves))}, Options{Timed: c.timed})
		col.begin(0)
		col.End(4 * ms)
		for i, g := range c.halves {
			h := newHalf(col, i, trace.A)
			col.halves[i][trace.A] = h
			h.deliver(g.at, trace.A, g.bytes)
		}
		if got := col.Summary().Fairness; math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %g, want %g", c.name, got, c.want)
		}
	}
}
