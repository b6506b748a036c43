//go:build linux

package packetio

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// wallEvery is how long a reading of the distance between the wall clock and the monotonic clock is trusted. The two
// tick alike, so the distance changes only when somebody sets the wall clock; a step is noticed within this time.
const wallEvery = 50 * time.Millisecond

// Monotonic returns CLOCK_MONOTONIC in nanoseconds: the number that processes of one host agree on, and that a run is
// started at.
func Monotonic() int64 {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) != nil {
		return 0 // cannot happen: every Linux has this clock
	}
	return ts.Nano()
}

// Clock tells the time of a run: picoseconds since an instant of CLOCK_MONOTONIC that all processes of the run were
// given. Kernel stamps are wall-clock times; At carries them over.
type Clock struct {
	anchor time.Time // an instant of Go's clock, which reads CLOCK_MONOTONIC without a system call
	offset int64     // run time of anchor in nanoseconds
	wall   int64     // run time minus wall-clock time in nanoseconds
	read   time.Time // when wall was taken
}

// NewClock returns the clock of a run that began at start, in nanoseconds of CLOCK_MONOTONIC as Monotonic returns them.
func NewClock(start int64) *Clock {
	c := &Clock{}
	best := time.Duration(1 << 62)
	for range 16 { // the tightest bracket around the system call pairs the two clocks to some 50 ns
		before := time.Now()
		mono := Monotonic()
		gap := time.Since(before)
		if gap < best {
			best = gap
			c.anchor, c.offset = before.Add(gap/2), mono-start
		}
	}
	c.resync()
	return c
}

// Now returns the time of the run, negative before its start.
func (c *Clock) Now() vtime.Time { return toRun(c.offset + int64(time.Since(c.anchor))) }

// At converts a kernel stamp, nanoseconds of CLOCK_REALTIME, to the time of the run.
func (c *Clock) At(wall int64) vtime.Time { return toRun(wall + c.wall) }

// Refresh takes the distance to the wall clock again if the last reading is old. Receive calls it once per batch.
func (c *Clock) Refresh() {
	if time.Since(c.read) >= wallEvery {
		c.resync()
	}
}

// tight is a bracket around a reading of two clocks in which nothing can have come between.
const tight = 2 * time.Microsecond

// resync pairs the wall clock with the monotonic one. A time.Time holds both, but read one after the other, and a
// thread can lose its processor in between: then the pair is wrong by milliseconds, and the bracket around it as wide.
func (c *Clock) resync() {
	best := time.Duration(1 << 62)
	for range 16 {
		before := time.Now()
		pair := time.Now()
		gap := time.Since(before)
		if gap < best {
			best = gap
			c.wall, c.read = c.offset+int64(pair.Sub(c.anchor))-pair.UnixNano(), pair
		}
		if gap < tight {
			return
		}
	}
}

// toRun converts the kernel's nanoseconds to the unit of a run.
func toRun(ns int64) vtime.Time { return vtime.Time(ns) * vtime.Time(vtime.Nanosecond) }
