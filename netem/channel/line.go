package channel

import (
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// line is a FIFO queue followed by serialisation at a rate, one packet at a time.
type line struct {
	rate    unit.Rate    // 0 is unlimited: packets leave at once and never wait
	queue   int          // capacity of the queue in packets, without the packet being serialised
	free    vtime.Time   // time at which the last bit of the last accepted packet leaves; never decreases
	starts  []vtime.Time // ring of the times at which the waiting packets start; len(starts) <= queue
	head, n int          // first entry of the ring, and number of waiting packets; n <= queue
	highest int          // largest value of n so far
}

// enter adds a packet to the line and sets free to the time its last bit leaves; it reports false, and changes nothing,
// if the queue is full.
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

// settle removes the packets whose serialisation has started from the queue.
func (l *line) settle(now vtime.Time) {
	for l.n > 0 && l.starts[l.head] <= now {
		l.head = (l.head + 1) % len(l.starts)
		l.n--
	}
}

// wait adds one packet to the queue, which starts at free; it reports false if the queue is full.
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

// grow doubles the ring. The ring is not allocated at its full size, so that an idle link with a queue of millions
// takes little memory.
func (l *line) grow() {
	bigger := make([]vtime.Time, min(max(16, 2*len(l.starts)), l.queue))
	for i := range l.n {
		bigger[i] = l.starts[(l.head+i)%len(l.starts)]
	}
	l.starts, l.head = bigger, 0
}
