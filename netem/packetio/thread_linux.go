package packetio

import (
	"fmt"
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// LockThread locks the calling goroutine to its thread and sets the thread's timer slack to one nanosecond, so that
// waits end in time; with the kernel's default they may be 50 us late.
func LockThread() error {
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("packetio: set timer slack: %w", err)
	}
	return nil
}

// Priority ranks the loops of a run. All of them have priority over the ordinary threads of the host.
type Priority uint32

// The ranks. A delay of an endpoint shows in one answer, a delay of the link in every packet.
const (
	OfEnd  Priority = 1 // an endpoint
	OfPeer Priority = 2 // the peer of a device on another machine, which may be a guest with priority 1 on this one
	OfLink Priority = 3 // the link; its helpers, such as the kernel's network threads in a guest, have 2
)

// Realtime gives the calling thread, which LockThread has locked, a real-time priority: it then runs before all
// ordinary threads of the host. The other threads of the process get the next lower one, if there is one, because Go
// takes a locked thread off its processor every 10 ms and needs another thread to give the processor back: one without
// priority is delayed by the load of the host. Realtime is meant for a process with one loop and little else. It needs
// CAP_SYS_NICE.
func Realtime(p Priority) error {
	return schedule("self", unix.SCHED_FIFO, uint32(p), max(1, uint32(p)-1))
}

// Promote gives all threads of another process a real-time priority, as Realtime does. It is meant for a program that
// makes few packets: one that made many would starve the taps, which have none.
func Promote(pid int, p Priority) error {
	return schedule(strconv.Itoa(pid), unix.SCHED_FIFO, uint32(p), uint32(p))
}

// Ordinary restores the normal scheduling policy, before the thread is unlocked.
func Ordinary() error { return schedule("self", unix.SCHED_NORMAL, 0, 0) }

// schedule sets the scheduling policy of a process: the calling thread gets one priority, all others another. A new
// thread has the policy of its creator, so a second pass finds the threads that were created meanwhile by one that had
// not been changed.
func schedule(process string, policy, own, others uint32) error {
	for range 2 {
		threads, err := threads(process)
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

// Prefer gives a program of a run a larger share of the processors than other programs have; without the privilege its
// share does not change, and the certificate shows whether that was enough. Prefer acts on the process group, which is
// the program with all its threads: Linux gives a priority to a single thread, and a preferred thread would wait,
// spinning, for Go's other threads, which do not run because it spins. A kernel with sched_autogroup divides the
// processors among sessions first: there a priority has effect within the session only, so the program must be in a
// session of its own, which is preferred as well.
func Prefer(pid int) {
	_ = unix.Setpriority(unix.PRIO_PGRP, pid, preferred)
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/autogroup", pid), []byte(strconv.Itoa(preferred)), 0)
}

// preferred is a nice value.
const preferred = -15
