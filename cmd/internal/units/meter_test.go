package units

import (
	"context"
	"testing"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/shard"
)

// Units that are made at once share the time, one alone has all of it, and time between units is nobody's.
func TestMeterDividesTime(t *testing.T) {
	now := time.Duration(0)
	m := meter{used: func() time.Duration { return now }}
	now = 5
	a := m.begin()
	now = 15
	b := m.begin()
	now = 35
	if got := m.end(a); got != 20 {
		t.Errorf("10 alone and half of 20: %d", got)
	}
	now = 40
	if got := m.end(b); got != 15 {
		t.Errorf("half of 20 and 5 alone: %d", got)
	}
	now = 100
	c := m.begin()
	now = 101
	if got := m.end(c); got != 1 {
		t.Errorf("1 alone: %d", got)
	}
}

// The cost of a unit is what it computed: one that waits is cheap, however long it takes.
func TestCostsAreProcessorTime(t *testing.T) {
	f, err := OpenFolder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	all := []Unit{New("test", "waits", 1, "waits"), New("test", "computes", 1, "computes")}
	_, err = f.Make(t.Context(), all, Work{Part: shard.Whole, Jobs: 1, Progress: func(float64, string) {},
		Make: func(_ context.Context, i int) (any, error) {
			for began := processorTime(); i == 1 && processorTime()-began < 200*time.Millisecond; {
			}
			if i == 0 {
				time.Sleep(400 * time.Millisecond)
			}
			return i, nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	costs, err := Costs(f.dirs[0])
	if err != nil {
		t.Fatal(err)
	}
	if waits, computes := costs[all[0].Work], costs[all[1].Work]; waits > computes/2 {
		t.Errorf("waiting cost %g s, computing %g s", waits, computes)
	}
}
