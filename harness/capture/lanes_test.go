package capture

import (
	"testing"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// TestSince: the time of a frame is that since zero, not before it, and not beyond the end of vtime.
func TestSince(t *testing.T) {
	zero := time.Unix(1_700_000_000, 999_999_999).UTC()
	for _, wall := range []time.Time{zero, zero.Add(1), zero.Add(-1), zero.Add(time.Second - 1), zero.Add(-time.Hour),
		zero.Add(105 * 24 * time.Hour), zero.Add(107 * 24 * time.Hour), zero.AddDate(1000, 0, 0),
		zero.AddDate(-1000, 0, 0), time.Unix(0, 0), time.Unix(1<<40, 7)} {
		want := vtime.Time(max(0, vtime.FromStd(wall.Sub(zero))))
		if got := since(zero)(&Frame{Wall: wall}); got != want {
			t.Errorf("%v is at %v, want %v", wall, got, want)
		}
	}
}
