package evidence

import (
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// A packet is recorded twice within atOnce, however many pass meanwhile, and not one that comes later.
func TestRepeatedAtOnce(t *testing.T) {
	var r repeated
	for i := range 1000 {
		at := vtime.Time(i) * vtime.Time(20*vtime.Nanosecond)
		if r.again(&Sighting{At: at, PSN: psn.New(uint32(i)), Opcode: roce.Acknowledge}, &copies{}) {
			t.Fatalf("packet %d repeats none", i)
		}
	}
	for _, c := range []struct {
		psn  uint32
		want bool
	}{{999, true}, {920, true}, {890, false}} {
		s := Sighting{At: vtime.Time(20 * vtime.Microsecond), PSN: psn.New(c.psn), Opcode: roce.Acknowledge}
		if got := r.again(&s, &copies{}); got != c.want {
			t.Errorf("packet %d: repeats %v, want %v", c.psn, got, c.want)
		}
	}
}
