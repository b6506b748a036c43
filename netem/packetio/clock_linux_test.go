package packetio

import (
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Two clocks with the same start, as in two processes, agree with each other and with the kernel's wall-clock stamps.
func TestClocksAgree(t *testing.T) {
	start := Monotonic() - int64(time.Hour)
	a, b := NewClock(start), NewClock(start)
	const slack = 50 * vtime.Microsecond
	for range 100 {
		x, y := a.Now(), b.Now()
		wall := a.At(time.Now().UnixNano())
		z := a.Now()
		if y < x.Add(-slack) || y > z.Add(slack) || wall < x.Add(-slack) || wall > z.Add(slack) {
			t.Fatalf("readings in order: %s, %s, stamp %s, %s", x.Micros(), y.Micros(), wall.Micros(), z.Micros())
		}
	}
	if now := a.Now(); now < vtime.Time(vtime.Duration(3600)*vtime.Second) || now > vtime.Time(3601*vtime.Second) {
		t.Errorf("an hour after the start it is %s us", now.Micros())
	}
	if NewClock(Monotonic()+int64(time.Second)).Now() >= 0 {
		t.Error("before the start the time is not negative")
	}
}

// A step of the wall clock has no effect after wallEvery.
func TestClockFollowsWallSteps(t *testing.T) {
	c := NewClock(Monotonic())
	c.wall += int64(time.Hour) // as if the wall clock had been set back
	c.Refresh()
	c.read = c.read.Add(-2 * wallEvery)
	c.Refresh()
	before, at, after := c.Now(), c.At(time.Now().UnixNano()), c.Now()
	if at < before.Add(-vtime.Millisecond) || at > after.Add(vtime.Millisecond) {
		t.Errorf("a stamp is %s us, taken between %s and %s", at.Micros(), before.Micros(), after.Micros())
	}
}

func TestWaitEnds(t *testing.T) {
	var fds [2]int
	if err := unix.Pipe(fds[:]); err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fds[0])
	c := NewClock(Monotonic())
	w := NewWaiter(c, fds[0])
	if err := w.Wait(c.Now().Add(-vtime.Second)); err != nil || w.Ready(0) {
		t.Errorf("a wait for the past: %v, ready %v", err, w.Ready(0))
	}
	kept := NewWaiter(c, fds[0])
	kept.KeepProcessor()
	if err := kept.Wait(vtime.Never); err != nil || kept.Ready(0) {
		t.Errorf("a kept wait did not give up: %v", err)
	}
	unix.Close(fds[1]) // the other end closes
	if err := w.Wait(vtime.Never); err != nil || !w.Ready(0) {
		t.Errorf("the end of a pipe: %v, ready %v", err, w.Ready(0))
	}
}

func TestRealtimeIsGivenBack(t *testing.T) {
	defer runtime.UnlockOSThread()
	if err := LockThread(); err != nil {
		t.Fatal(err)
	}
	if err := Realtime(OfLink); err != nil {
		t.Skipf("not granted: %v", err)
	}
	a, err := unix.SchedGetAttr(0, 0)
	if err != nil || a.Policy != unix.SCHED_FIFO || a.Priority != uint32(OfLink) {
		t.Errorf("attributes %+v, %v", a, err)
	}
	if err := Ordinary(); err != nil {
		t.Error(err)
	}
	if a, err := unix.SchedGetAttr(0, 0); err != nil || a.Policy != unix.SCHED_NORMAL {
		t.Errorf("afterwards %+v, %v", a, err)
	}
}

func TestLateIsAboveNothing(t *testing.T) {
	p50, p99, err := Late(50)
	if err != nil || p50 <= 0 || p99 < p50 {
		t.Errorf("median %v, 99th percentile %v, %v", p50, p99, err)
	}
}

// A dilated clock and the kernel's stamps run slower by its factor at every instant, and a wait takes longer by it.
func TestDilatedClock(t *testing.T) {
	start := Monotonic() - int64(64*time.Second)
	c, b := Timebase{start, 64}.Clock(), Timebase{start, 64}
	const slack = 50 * vtime.Microsecond
	if now := c.Now(); now < vtime.Time(vtime.Second) || now > vtime.Time(1100*vtime.Millisecond) {
		t.Errorf("after 64 s of the machine it is %s us", now.Micros())
	}
	before, at, after := c.Now(), c.At(time.Now().UnixNano()), c.Now()
	if at < before.Add(-slack) || at > after.Add(slack) {
		t.Errorf("a stamp is %s us, taken between %s and %s", at.Micros(), before.Micros(), after.Micros())
	}
	if x := b.Time(Monotonic()); x < after.Add(-slack) || x > c.Now().Add(slack) {
		t.Errorf("the timebase says %s us, the clock %s", x.Micros(), after.Micros())
	}
	began, w := time.Now(), NewWaiter(c)
	if err := w.Wait(c.Now().Add(100 * vtime.Microsecond)); err != nil || time.Since(began) < 6*time.Millisecond {
		t.Errorf("100 us, 64 times as long, took %s: %v", time.Since(began), err)
	}
}

// The conversion between an instant of the machine and the time of the run is exact to the nanosecond.
func TestTimebaseMapsBothWays(t *testing.T) {
	for _, k := range []vtime.Dilation{0, 1, 2, 1024} {
		b := Timebase{Start: 77, Dilation: k}
		for _, ns := range []int64{0, 77, 78, 1_000_000_007, 86_400_000_000_000} {
			if got := b.Instant(b.Time(ns)); got > ns || got < ns-1 {
				t.Errorf("K %s: instant %d came back as %d", k, ns, got)
			}
		}
	}
}

// A new reading of the wall clock does not change the order of frames; the two directions do not hold each other up.
func TestFramesStayInOrder(t *testing.T) {
	var b batch
	for i, f := range []struct {
		at, want vtime.Time
		outgoing bool
	}{{at: 100, want: 100}, {at: 98, want: 100}, {at: 97, want: 97, outgoing: true}, {at: 101, want: 101}} {
		if got := b.inOrder(f.at, f.outgoing); got != f.want {
			t.Errorf("frame %d: %d, want %d", i, got, f.want)
		}
	}
}

// A frame behind one with a later stamp is a swap, but not the first one after a step of the wall clock.
func TestSwaps(t *testing.T) {
	c := NewClock(Monotonic())
	var b batch
	now := time.Now().UnixNano()
	for _, late := range []int64{0, 100, 50, 99, 100, 300} {
		b.order(now+late, c)
	}
	if b.swapped != 2 {
		t.Errorf("%d swaps, want 2: 50 and 99 behind 100", b.swapped)
	}
	b.beside -= int64(time.Hour) // as if the wall clock had been set back since
	b.order(now-int64(time.Hour), c)
	b.order(now-int64(time.Hour)+1, c)
	if b.swapped != 2 {
		t.Errorf("%d swaps after a step of the wall clock, want 2", b.swapped)
	}
}
