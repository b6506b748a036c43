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
