package packetio

import (
	"fmt"
	"os"
	"runtime"
	"strconv"

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

// Priority ranks the loops of a run among each other. All of them come before the ordinary threads of the host.
type Priority uint32

// The ranks. What an endpoint does late is seen in one answer, what the link does late in every packet.
const (
	OfEnd  Priority = 1 // an endpoint
	OfLink Priority = 3 // the link; what helps it, such as the kernel's network threads in a guest, has 2
)

// Realtime gives the calling thread, which LockThread has locked, a real-time priority: it then runs before all
// ordinary threads of the host. The other threads of the process get the next lower one, if there is one, because Go
// takes a locked thread off its processor every 10 ms and has another thread give it back: one without priority is as
// late as the host is busy. It is meant for a process with one loop and little else. It needs CAP_SYS_NICE.
func Realtime(p Priority) error {
	return schedule(unix.SCHED_FIFO, uint32(p), max(1, uint32(p)-1))
}

// Ordinary takes it back, before the thread is unlocked.
func Ordinary() error { return schedule(unix.SCHED_NORMAL, 0, 0) }

// schedule sets the policy of the process: the calling thread gets one priority, all others another. A thread starts
// with what the one has that made it, so a second look finds those that were made meanwhile by one that had not been
// seen to.
func schedule(policy, own, others uint32) error {
	for range 2 {
		threads, err := threads("self")
		if err != nil {
			return err
		}
		for _, id := range threads {
			a := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: policy, Priority: others}
			if id == unix.Gettid() {
				a.Priority = own
			}
			if err := unix.SchedSetAttr(id, &a, 0); err != nil && err != unix.ESRCH { // it may have ended
				return fmt.Errorf("packetio: set the scheduling policy of thread %d: %w", id, err)
			}
		}
	}
	return nil
}

// Prefer gives a program that takes part in a run a larger share of the processors than programs beside the run have;
// without the privilege it stays as it is, and the certificate tells whether that was enough. It is given to the
// process group, which is the program with all its threads: Linux gives a priority to a thread, and one that is in a
// hurry would wait, spinning, for Go's other threads, which have no turn because it spins. A kernel with
// sched_autogroup shares the processors out by session first: there a priority counts within the session alone, so the
// program has to be in one of its own, which is preferred as well.
func Prefer(pid int) {
	_ = unix.Setpriority(unix.PRIO_PGRP, pid, preferred)
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/autogroup", pid), []byte(strconv.Itoa(preferred)), 0)
}

// preferred is a priority as nice counts it.
const preferred = -15
