package measure

import (
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

const us, ms = vtime.Microsecond, vtime.Millisecond

func at(d vtime.Duration) vtime.Time { return vtime.Time(d) }

// Pace measures the rate of the line in spite of a stall of the host, and does not take a wrong rate for the right one.
func TestPaceSeesThroughStalls(t *testing.T) {
	train := func(n int, step vtime.Duration, late func(i int) vtime.Duration) (list []arrival) {
		for i := range n {
			list = append(list, arrival{psn.PSN(1000 + i), at(vtime.Duration(i)*step + late(i))})
		}
		return list
	}
	stall := func(from, n int) func(int) vtime.Duration { // the thread sleeps and then catches up
		return func(i int) vtime.Duration {
			if i >= from && i < from+n {
				return vtime.Duration(from+n-i) * 10 * us
			}
			return 0
		}
	}
	for _, c := range []struct {
		name  string
		train []arrival
		step  vtime.Duration // by the Spec
		want  float64        // packets per step of the Spec
	}{
		{"steady", train(300, 10*us, stall(0, 0)), 10 * us, 1},
		{"stalled at the start", train(300, 10*us, stall(0, 50)), 10 * us, 1},
		{"stalled at the end", train(300, 10*us, stall(250, 50)), 10 * us, 1},
		{"stalled in the middle", train(300, 10*us, stall(100, 100)), 10 * us, 1},
		{"a slow line", train(300, 11*us, stall(0, 0)), 10 * us, 10.0 / 11},
		{"a fast line", train(300, 9*us, stall(0, 50)), 10 * us, 10.0 / 9},
	} {
		b := pace(c.train, c.step)
		got := float64(b.Arrived-1) * float64(c.step) / float64(b.Span)
		if got < c.want*0.999 || got > c.want*1.001 {
			t.Errorf("%s: %.4f of the rate, want %.4f (%+v)", c.name, got, c.want, b)
		}
	}
	if b := pace(train(2, us, stall(0, 0)), us); b.Span != 0 || b.Arrived != 2 {
		t.Errorf("two packets: %+v", b)
	}
}
