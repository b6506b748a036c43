package supervise

import (
	"sync/atomic"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/remote/line"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/station"
	"github.com/rdma-gauntlet/gauntlet/netem/packetio"
)

// lateness is how late this host lets a thread have the processor that is to have it before all others: a device that computes in
// the kernel gets it no earlier.
type lateness struct{ most atomic.Int64 }

// turn is how often it is looked at.
const turn = 2 * time.Millisecond

// watch looks for as long as this process lives. It does nothing that waits for another thread.
func (l *lateness) watch() {
	if packetio.LockThread() != nil || packetio.Realtime(packetio.OfLink) != nil {
		return // without the right to it, this would tell how busy the host is, and not how late
	}
	for {
		before := packetio.Monotonic()
		station.Moment(turn)
		if late := packetio.Monotonic() - before - turn.Nanoseconds(); late > l.most.Load() {
			l.most.Store(late)
		}
	}
}

// take returns the most since it was last called.
func (l *lateness) take() line.Late { return line.Late{Nanoseconds: l.most.Swap(0)} }
