package process

import (
	"time"

	"golang.org/x/sys/unix"
)

// peakMemory returns the maximum memory of the process in bytes, 0 when the kernel does not report it.
func peakMemory() int64 {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return int64(u.Maxrss) << 10
}

// processorTime returns the processor time of all threads of the process, 0 when it is not available.
func processorTime() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
