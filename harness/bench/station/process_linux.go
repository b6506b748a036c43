package station

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Memory reads n bytes of a process at an address of its own.
func Memory(pid int, va uint64, n int) ([]byte, error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := make([]byte, n)
	_, err = f.ReadAt(b, int64(va))
	return b, err
}

// StepBack lets everything else go before a program that never sleeps: where there is one processor, the endpoint and
// the link would wait for it. What a device does for the program is the kernel's work, and goes on.
func StepBack(pid int) {
	_ = unix.SchedSetAttr(pid, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE}, 0)
}

// How a program that only waits is let look: for a moment every few milliseconds. That is longer than each of the steps
// in which perftest measures the clock, so that a step ends with each look.
const (
	look = 50 * time.Microsecond
	rest = 2500 * time.Microsecond
)

// Glance lets a process look now and then until one of two channels is closed. It steps back as well: otherwise what
// wakes to pause it would wait until its slice is over.
func Glance(pid int, done, over <-chan struct{}) {
	StepBack(pid)
	for {
		_ = unix.Kill(pid, unix.SIGSTOP) // it may have ended
		select {
		case <-done:
			return
		case <-over:
			return
		case <-time.After(rest):
		}
		_ = unix.Kill(pid, unix.SIGCONT)
		Moment(look)
	}
}

// Moment is a short sleep, which Go's timers would end a millisecond late. A signal ends it as well.
func Moment(d time.Duration) {
	t := unix.NsecToTimespec(d.Nanoseconds())
	_ = unix.Nanosleep(&t, nil)
}
