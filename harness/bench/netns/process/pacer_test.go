package process

import (
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

const us, ms = vtime.Microsecond, vtime.Millisecond

func at(d vtime.Duration) vtime.Time { return vtime.Time(d) }

// The line is never faster than its rate, catches up after a late wake-up, and does not catch up after a rest.
func TestPacer(t *testing.T) {
	p := newPacer(100 * unit.Mbps)
	const frame = 1106 // 88.48 us
	burst := func(now vtime.Time) (n int) {
		for ; p.ready(now); n++ {
			p.spend(now, now, frame)
		}
		return n
	}
	if n := burst(at(10 * ms)); n < 1 || n > 13 {
		t.Errorf("%d packets at the start", n)
	}
	if n := burst(at(10*ms + 5*885*us/10)); n < 4 || n > 6 {
		t.Errorf("%d packets after 442 us", n)
	}
	if n := burst(at(20 * ms)); n < 11 || n > 13 {
		t.Errorf("%d packets after a stall of 10 ms, want what fits 1 ms", n)
	}
	p.rest()
	if n := burst(at(30 * ms)); n != 1 {
		t.Errorf("%d packets after a rest", n)
	}
	if free := newPacer(0); !free.ready(0) {
		t.Error("an unlimited line is busy")
	}
}

// Starved is the time of the line that is lost: after a rest since the cause, else beyond the time that is caught up.
func TestStarved(t *testing.T) {
	const frame, takes = 1106, 88480 * vtime.Nanosecond
	p := newPacer(100 * unit.Mbps)
	for _, c := range []struct {
		rest       bool
		now, cause vtime.Duration
		want       vtime.Duration
	}{
		{true, 3 * ms, 1 * ms, 2 * ms},
		{false, 4 * ms, 4 * ms, 2 * ms},                  // the line was free for 0.9 ms, which is caught up
		{false, 10 * ms, 10 * ms, 2*ms + 6*ms - 2*takes}, // except the last of 6.8 ms
		{true, 50 * ms, 50 * ms, 2*ms + 6*ms - 2*takes},  // a sender without packets is not starved
		{true, 50*ms + takes/2, 50 * ms, 8*ms - 2*takes}, // nor is one whose line is busy
	} {
		if c.rest {
			p.rest()
		}
		if p.spend(at(c.now), at(c.cause), frame); p.starved != c.want {
			t.Errorf("%+v: starved for %v", c, p.starved)
		}
	}
}
