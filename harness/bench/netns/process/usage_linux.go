package process

import (
	"time"

	"golang.org/x/sys/unix"
)

// peakMemory returns the most bytes of memory that the process has had, 0 when the kernel does not tell.
func peakMemory() int64 {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return int64(u.Maxrss) << 10
}

// processorTime returns what the threads of the process have used of the processors, 0 when the kernel does not tell.
func processorTime() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
