package station

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Memory reads n bytes of a process at an address in its memory.
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

// StepBack gives a program that never sleeps the lowest priority: on a single processor, the endpoint and the link
// would wait for it otherwise. The work of a device for the program is done by the kernel, and goes on.
func StepBack(pid int) {
	_ = unix.SchedSetAttr(pid, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE}, 0)
}

// The intervals at which a program that only waits may run: look every few milliseconds. rest is longer than each of
// the steps in which perftest measures the clock, so that a step ends in each interval.
const (
	look = 50 * time.Microsecond
	rest = 2500 * time.Microsecond
)

// Glance lets a process run at short intervals only, until one of two channels is closed. It also gives the process the
// lowest priority: otherwise the thread that wakes to stop it would wait for the end of its time slice.
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
