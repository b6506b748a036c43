package packetio

import (
	"runtime"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Late measures how late this host ends waits of 200 us, n of them, in a thread with the priority of a link if the
// kernel grants it: the median and the 99th percentile. No link on this host can be more punctual; on a virtual machine
// most of the delay is caused by its host.
func Late(n int) (p50, p99 vtime.Duration, err error) {
	defer runtime.UnlockOSThread()
	if err := LockThread(); err != nil {
		return 0, 0, err
	}
	if Realtime(OfLink) == nil {
		defer func() { _ = Ordinary() }()
	}
	clock := NewClock(Monotonic())
	waiter, late := NewWaiter(clock), make([]vtime.Duration, n)
	for i := range late {
		due := clock.Now().Add(200 * vtime.Microsecond)
		if err := waiter.Wait(due); err != nil {
			return 0, 0, err
		}
		late[i] = max(0, clock.Now().Sub(due))
	}
	slices.Sort(late)
	return late[n/2], late[n*99/100], nil
}
