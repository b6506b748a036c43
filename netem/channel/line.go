package channel

import (
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// line is the queue and the serialisation behind it: first in, first out, one packet at a time.
type line struct {
	rate    unit.Rate
	queue   int          // packets that may wait
	free    vtime.Time   // when the last accepted packet has left
	starts  []vtime.Time // ring: when each waiting packet will start; grows to the queue at most
	head, n int
	highest int // most packets that ever waited
}

// enter adds a packet to the line, unless as many wait already as may; free is then the time its last bit leaves.
func (l *line) enter(now vtime.Time, wireBytes int) bool {
	if l.rate == 0 {
		l.free = now
		return true
	}
	l.settle(now)
	if l.free > now && !l.wait() {
		return false
	}
	l.free = max(l.free, now).Add(l.rate.Time(wireBytes))
	return true
}

// settle forgets the packets that no longer wait.
func (l *line) settle(now vtime.Time) {
	for l.n > 0 && l.starts[l.head] <= now {
		l.head = (l.head + 1) % len(l.starts)
		l.n--
	}
}

// wait puts one packet, which starts when the line is free, in the queue.
func (l *line) wait() bool {
	if l.n >= l.queue {
		return false
	}
	if l.n == len(l.starts) {
		l.grow()
	}
	l.starts[(l.head+l.n)%len(l.starts)] = l.free
	l.n++
	l.highest = max(l.highest, l.n)
	return true
}

// grow doubles the ring, so that an idle link with a queue of millions costs nothing.
func (l *line) grow() {
	bigger := make([]vtime.Time, min(max(16, 2*len(l.starts)), l.queue))
	for i := range l.n {
		bigger[i] = l.starts[(l.head+i)%len(l.starts)]
	}
	l.starts, l.head = bigger, 0
}
