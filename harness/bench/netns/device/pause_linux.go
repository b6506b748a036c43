package device

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// stepBack lets everything else go before a program that never sleeps: where there is one processor, the endpoint and the link
// would wait for it. What a device does for the program is the kernel's work, and goes on.
func stepBack(pid int) {
	_ = unix.SchedSetAttr(pid, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE}, 0)
}

// pause stops a tool that polls, while nothing can happen that concerns it: the kernel answers for it, and what it would burn meanwhile
// is most of what a run takes of a processor. One that sleeps is left alone.
func (r *running) pause() { r.signal(unix.SIGSTOP) }

// resume lets it go on.
func (r *running) resume() { r.signal(unix.SIGCONT) }

// leave pauses it for good, because the run is over.
func (r *running) leave() {
	if r != nil {
		close(r.over)
		r.pause()
	}
}

func (r *running) signal(which syscall.Signal) {
	if r != nil && r.tool.Polls() {
		_ = r.command.Process.Signal(which) // it may have ended
	}
}

// How a tool that only waits is let look: without rest for long enough that it has posted what it can, then for a moment every few
// milliseconds. That is longer than each of the steps in which perftest measures the clock, so that a step ends with each look.
const (
	attentive = 50 * time.Millisecond
	look      = 50 * time.Microsecond
	rest      = 2500 * time.Microsecond
)

// glance lets a tool look now and then until it has done its work, or the run is over. It steps back as well: otherwise what wakes to
// pause it would wait until its slice is over.
func (r *running) glance() {
	if !r.stays(attentive) {
		return
	}
	stepBack(r.command.Process.Pid)
	for {
		r.pause()
		if !r.stays(rest) {
			return
		}
		r.resume()
		moment := unix.NsecToTimespec(look.Nanoseconds())
		_ = unix.Nanosleep(&moment, nil) // Go's timers wake a millisecond late; a signal only ends the look
	}
}

// stays reports whether the tool is still at work after a time.
func (r *running) stays(d time.Duration) bool {
	select {
	case <-r.done:
	case <-r.over:
	case <-time.After(d):
		return true
	}
	return false
}
