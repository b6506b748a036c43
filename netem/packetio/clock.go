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

// Timebase is what the processes of a run agree on: when its time begins on the machine's clock, and how long it lasts
// there. All times of a run are the Spec's. The machine's clock enters here, and in the Clock of a Timebase, and
// nowhere else.
type Timebase struct {
	Start    int64          `json:"start_ns"` // CLOCK_MONOTONIC, in nanoseconds
	Dilation vtime.Dilation `json:"dilate,omitempty"`
}

// Time is the time of the run at an instant of CLOCK_MONOTONIC, in nanoseconds; negative before its start.
func (b Timebase) Time(monotonic int64) vtime.Time { return b.after(monotonic - b.Start) }

// Instant is the instant of CLOCK_MONOTONIC, in nanoseconds, of a time of the run.
func (b Timebase) Instant(t vtime.Time) int64 {
	return b.Start + int64(b.Dilation.Machine(t.Sub(0))/vtime.Nanosecond)
}

// after is the time of the run when so many nanoseconds of the machine have passed since its start.
func (b Timebase) after(ns int64) vtime.Time {
	return vtime.Time(0).Add(b.Dilation.Spec(vtime.Duration(ns) * vtime.Nanosecond))
}

// Clock tells the time of a run. Kernel stamps are wall-clock times; At carries them over.
type Clock struct {
	Timebase
	anchor time.Time // an instant of Go's clock, which reads CLOCK_MONOTONIC without a system call
	offset int64     // nanoseconds of the machine from the start to anchor
	wall   int64     // nanoseconds from the start minus wall-clock time
	read   time.Time // when wall was taken
}

// NewClock returns the machine's own clock, which began at start, in nanoseconds of CLOCK_MONOTONIC as Monotonic
// returns them.
func NewClock(start int64) *Clock { return Timebase{Start: start}.Clock() }

// Clock returns a clock of the run. It is for one goroutine.
func (b Timebase) Clock() *Clock {
	c := &Clock{Timebase: b}
	best := time.Duration(1 << 62)
	for range 16 { // the tightest bracket around the system call pairs the two clocks to some 50 ns
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

// At converts a kernel stamp, nanoseconds of CLOCK_REALTIME, to the time of the run.
func (c *Clock) At(wall int64) vtime.Time { return c.after(wall + c.wall) }

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
