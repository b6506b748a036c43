package linkmakers

import (
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// The scenarios of the comparison have the link effects of their names in the simulator, whose link is exact.
func TestComparedLinks(t *testing.T) {
	for _, l := range compared {
		s, err := scenario.Parse(strings.NewReader("seed 1\n" + base + "\n" + l.lines + "\n"))
		if err != nil {
			t.Fatal(err)
		}
		f, err := measure(t.Context(), s, "sim", "auto")
		if err != nil {
			t.Fatal(err)
		}
		ab := &s.Link.AB
		if want := float64(ab.Loss.Mean()); ab.Queue > 100 && (f.Lost < want/2 || f.Lost > want*2) || f.Sent < 1000 {
			t.Errorf("%s: lost %.3f of %d, want %.3f", l.name, f.Lost, f.Sent, want)
		}
		queued := int64(ab.Queue+2) * int64(ab.Rate.Time(1106)/vtime.Nanosecond)
		if most := int64((ab.Delay+ab.Jitter)/vtime.Nanosecond) + queued; ab.Queue < 100 &&
			(f.Lost == 0 || f.DelayNs[4] > most) {
			t.Errorf("%s: lost %.3f, longest delay %d ns, want %d at most", l.name, f.Lost, f.DelayNs[4], most)
		}
		t.Logf("%s: %+v", l.name, f)
	}
}
