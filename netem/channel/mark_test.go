package channel

import (
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/fault"
	"github.com/rdma-gauntlet/gauntlet/netem/spec"
)

// burst offers n packets of 1000 bytes at once to a line of 8 Mb/s (1 ms each) and reports which were marked.
func burst(t *testing.T, m spec.Mark, n int) []bool {
	t.Helper()
	c, err := New(spec.Link{Rate: 8_000_000, Queue: 1000, Mark: m}, nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	marks := make([]bool, n)
	for i := range marks {
		marks[i] = c.Offer(0, 1000, fault.A, fault.Identity{}).Mark
	}
	return marks
}

// TestMarkStep: with a step every packet is marked that finds at least Min packets waiting.
func TestMarkStep(t *testing.T) {
	for i, marked := range burst(t, spec.Mark{Min: 10, Max: 10, P: 1}, 30) {
		if marked != (i >= 10) { // the first is on the line, and the eleventh finds ten
			t.Errorf("packet %d: marked %v", i, marked)
		}
	}
}

// TestMarkRises: between the thresholds the share of marks rises to P, and beyond them all packets are marked.
func TestMarkRises(t *testing.T) {
	marks := burst(t, spec.Mark{Min: 100, Max: 900, P: 0.5}, 950)
	share := func(from, to int) float64 {
		n := 0
		for _, m := range marks[from:to] {
			if m {
				n++
			}
		}
		return float64(n) / float64(to-from)
	}
	for _, s := range []struct {
		from, to  int
		least, at float64
	}{{0, 100, 0, 0}, {101, 501, 0.07, 0.18}, {501, 900, 0.30, 0.46}, {901, 950, 1, 1}} {
		if got := share(s.from, s.to); got < s.least || got > s.at {
			t.Errorf("packets %d to %d: share %.3f, want %g to %g", s.from, s.to, got, s.least, s.at)
		}
	}
}

// TestPort: a port that is faster than the line sends packets at its own rate; the line delivers them at its own.
func TestPort(t *testing.T) {
	c, err := New(spec.Link{Rate: 8_000_000, Port: 80_000_000, Queue: 10}, nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	now := vtime.Time(0)
	for i := range vtime.Time(5) {
		v := c.Offer(now, 1000, fault.A, fault.Identity{})
		sent := (i + 1) * vtime.Time(100*vtime.Microsecond)
		arrive := vtime.Time(100*vtime.Microsecond) + (i+1)*vtime.Time(vtime.Millisecond)
		if v.Sent != sent || v.Arrive != arrive || c.Free() != sent {
			t.Errorf("packet %d: sent %v, arrives %v, free %v; want %v, %v", i, v.Sent, v.Arrive,
				c.Free(), sent, arrive)
		}
		now = c.Free()
	}
	if got := c.Counters().QueueMax; got != 4 {
		t.Errorf("%d packets waited, want 4", got)
	}
}
