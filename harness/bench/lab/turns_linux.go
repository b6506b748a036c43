package lab

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// takeTurns makes the threads of a deterministic QEMU take turns: one processor for all, and on it the main loop, which keeps
// the clock, always before the thread that executes the guest.
//
// QEMU marks a guest as idle before it has counted the instructions that led there. A main loop that looks between the two, as
// it does now and then on a busy machine, advances the clock by too much (seen in QEMU 7.2). A main loop that goes first has
// nothing left to do by the time the guest goes on.
func takeTurns(pid int) error {
	var allowed, one unix.CPUSet
	if err := unix.SchedGetaffinity(pid, &allowed); err != nil {
		return fmt.Errorf("lab: processors of QEMU: %w", err)
	}
	for n := 0; one.Count() == 0; n++ {
		if allowed.IsSet(n) {
			one.Set(n)
		}
	}
	if err := unix.SchedSetaffinity(pid, &one); err != nil {
		return fmt.Errorf("lab: keep QEMU on one processor: %w", err)
	}
	// What this thread starts, among it the one that executes the guest, goes back to the ordinary policy.
	first := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1, Flags: unix.SCHED_FLAG_RESET_ON_FORK}
	if err := unix.SchedSetAttr(pid, &first, 0); err != nil {
		return fmt.Errorf("lab: a deterministic guest needs a real-time thread: %w; run as root, raise the limit (ulimit -r 1), or leave out --deterministic", err)
	}
	return nil
}
