//go:build netns

package packetio

import (
	"runtime"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

func TestWaitIsPrecise(t *testing.T) {
	defer runtime.UnlockOSThread()
	if err := LockThread(); err != nil {
		t.Fatal(err)
	}
	c := NewClock(Monotonic())
	for _, keeps := range []bool{false, true} {
		w := NewWaiter(c)
		if keeps {
			w.KeepProcessor()
		}
		best := vtime.Second
		for range 50 {
			due := c.Now().Add(300 * vtime.Microsecond)
			for c.Now() < due { // a signal ends a wait early
				if err := w.Wait(due); err != nil {
					t.Fatal(err)
				}
			}
			best = min(best, c.Now().Sub(due))
		}
		if best > 500*vtime.Microsecond { // a busy machine delays many waits, but not all
			t.Errorf("keeps %v: the best of 50 waits was %s late", keeps, best.Std())
		}
	}
}
