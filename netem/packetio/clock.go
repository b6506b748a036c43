//go:build linux

package packetio

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// wallEvery is the time for which a reading of the difference between the wall clock and the monotonic clock is used.
// Both run at the same speed, so the difference changes only when the wall clock is set; a step is noticed within this
// time.
const wallEvery = 50 * time.Millisecond

// Monotonic returns CLOCK_MONOTONIC in nanoseconds: the clock that the processes of one host share, and by which a run
// is started.
func Monotonic() int64 {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) != nil {
		return 0 // cannot happen: every Linux has this clock
	}
	return ts.Nano()
}

// Timebase is the time of a run as its processes share it: its start on the machine's clock, and the ratio of the two.
// All times of a run are those of the Spec. Only Timebase and its Clock use the machine's clock.
type Timebase struct {
	Start    int64          `json:"start_ns"` // CLOCK_MONOTONIC, in nanoseconds
	Dilation vtime.Dilation `json:"dilate,omitempty"`
}

// Time returns the time of the run at an instant of CLOCK_MONOTONIC, in nanoseconds; it is negative before the start.
func (b Timebase) Time(monotonic int64) vtime.Time { return b.after(monotonic - b.Start) }

// Instant returns the instant of CLOCK_MONOTONIC, in nanoseconds, of a time of the run.
func (b Timebase) Instant(t vtime.Time) int64 {
	return b.Start + int64(b.Dilation.Machine(t.Sub(0))/vtime.Nanosecond)
}

// after returns the time of the run when ns nanoseconds of the machine have passed since its start.
func (b Timebase) after(ns int64) vtime.Time {
	return vtime.Time(0).Add(b.Dilation.Spec(vtime.Duration(ns) * vtime.Nanosecond))
}

// Clock returns the current time of a run, and converts the kernel's timestamps, which are wall-clock times.
type Clock struct {
	Timebase
	anchor time.Time // an instant of Go's clock, which reads CLOCK_MONOTONIC without a system call
	offset int64     // nanoseconds of the machine from the start to anchor
	wall   int64     // nanoseconds from the start minus wall-clock time
	read   time.Time // time of the reading of wall
}

// NewClock returns a clock of the machine's own speed that starts at start, in nanoseconds of CLOCK_MONOTONIC as
// Monotonic returns them.
func NewClock(start int64) *Clock { return Timebase{Start: start}.Clock() }

// Clock returns a clock of the run. It must be used by one goroutine only.
func (b Timebase) Clock() *Clock {
	c := &Clock{Timebase: b}
	best := time.Duration(1 << 62)
	for range 16 { // the shortest bracket around the system call pairs the two clocks to some 50 ns
		before := time.Now()
		mono := Monotonic()
		gap := time.Since(before)
		if gap < best {
			best = gap
			c.anchor, c.offset = before.Add(gap/2), mono-b.Start
		}
	}
	c.resync()
	return c
}

// Now returns the time of the run, negative before its start.
func (c *Clock) Now() vtime.Time { return c.after(c.offset + int64(time.Since(c.anchor))) }

// At converts a timestamp of the kernel, in nanoseconds of CLOCK_REALTIME, to the time of the run.
func (c *Clock) At(wall int64) vtime.Time { return c.after(wall + c.wall) }

// Refresh reads the difference to the wall clock again if the last reading is old. Receive calls it once per batch.
func (c *Clock) Refresh() {
	if time.Since(c.read) >= wallEvery {
		c.resync()
	}
}

// setMost is the change of the difference to a wall clock that has not been set, in nanoseconds, between two readings
// of it within a second.
const setMost = 1_000_000

// setSince reads the difference to the wall clock again, and reports whether the clock was set since it was wall.
func (c *Clock) setSince(wall int64) bool {
	c.resync()
	return max(c.wall-wall, wall-c.wall) > setMost
}

// tight is the length of a bracket around the reading of two clocks in which the thread cannot have been interrupted.
const tight = 2 * time.Microsecond

// resync pairs the wall clock with the monotonic one. A time.Time holds both, but they are read one after the other,
// and a thread can lose its processor in between: then the pair is wrong by milliseconds, and the bracket around it as
// long.
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
