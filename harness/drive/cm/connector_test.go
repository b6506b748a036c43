package cm

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// The next retransmission is that of the message that has waited longest for its answer, whichever were answered.
func TestRepetitions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := Connector{conns: make([]connection, 4)}
		for i := range c.conns {
			c.conns[i].again = vtime.Never
		}
		now := vtime.Time(0)
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			now = now.Add(vtime.Duration(rapid.IntRange(0, 2).Draw(t, "later")))
			i, at := rapid.IntRange(0, 3).Draw(t, "conn"), vtime.Never
			if rapid.Bool().Draw(t, "asks") {
				at = now.Add(10)
			}
			c.expect(i, at)
			want, waiting := vtime.Never, 0
			for i := range c.conns {
				if want = min(want, c.conns[i].again); c.conns[i].again != vtime.Never {
					waiting++
				}
			}
			if got := c.Deadline(); got != want || c.waiting != waiting {
				t.Fatalf("next %v with %d waiting, want %v with %d", got, c.waiting, want, waiting)
			}
		}
	})
}
