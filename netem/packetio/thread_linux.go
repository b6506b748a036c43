package packetio

import (
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"
)

// LockThread ties the calling goroutine to its thread and sets the thread's timer slack to one nanosecond, so that a
// wait ends when it should; the kernel's default lets it be 50 us late.
func LockThread() error {
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("packetio: set timer slack: %w", err)
	}
	return nil
}

// Realtime gives the calling thread, which LockThread has locked, the lowest real-time priority: it then runs before all
// ordinary threads of the host. Threads that it starts do not inherit that. It needs CAP_SYS_NICE.
func Realtime() error {
	return schedule(unix.SchedAttr{Policy: unix.SCHED_FIFO, Priority: 1, Flags: unix.SCHED_FLAG_RESET_ON_FORK})
}

// Ordinary takes it back, before the thread is unlocked.
func Ordinary() error { return schedule(unix.SchedAttr{Policy: unix.SCHED_NORMAL}) }

// schedule sets the policy of the calling thread alone; other threads of the process keep theirs.
func schedule(a unix.SchedAttr) error {
	a.Size = unix.SizeofSchedAttr
	if err := unix.SchedSetAttr(0, &a, 0); err != nil {
		return fmt.Errorf("packetio: set the scheduling policy of a thread: %w", err)
	}
	return nil
}
