//go:build unix

package units

import (
	"syscall"
	"time"
)

// processorTime returns the processor time of all threads of the process, 0 when it is not available.
func processorTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
