package evidence

import (
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// The usual delay is robust against delays between frames that only look the same.
func TestUsualDelay(t *testing.T) {
	for _, c := range []struct {
		of   Samples
		want vtime.Duration
	}{{nil, 0}, {Samples{7}, 7}, {Samples{30, 3, 3, 50}, 3}, {Samples{-9, 4}, 4},
		{Samples{4, 90, 5, 6, 60}, 5}, {Samples{1, 2, 3, 4, 5}, 2}} {
		if got := c.of.Usual(); got != c.want {
			t.Errorf("%v: %d, want %d", c.of, got, c.want)
		}
	}
}
