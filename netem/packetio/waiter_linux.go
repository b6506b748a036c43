package packetio

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Waiter waits for frames on Ports, or for a time.
type Waiter struct {
	clock *Clock
	polls []unix.PollFd
	limit unix.Timespec // a field, so that a wait allocates nothing
	keeps bool
}

// NewWaiter returns a Waiter for the given descriptors, such as those of Ports and pipes.
func NewWaiter(clock *Clock, fds ...int) *Waiter {
	w := &Waiter{clock: clock}
	for _, fd := range fds {
		w.polls = append(w.polls, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
	}
	return w
}

// longest bounds a wait that keeps its processor, in the machine's time; Go's runtime stops the world between two
// waits.
const longest = 5 * vtime.Millisecond

// KeepProcessor makes waits keep Go's processor (of which there are GOMAXPROCS). Otherwise a waiting thread has to get
// a processor back, which on a busy host can take 100 ms: the thread that holds it gets no time to run. KeepProcessor
// is meant for a process with one loop and two processors; waits then return after 5 ms even if nothing has happened.
func (w *Waiter) KeepProcessor() { w.keeps = true }

// Wait returns when a descriptor is readable or the time has come; with vtime.Never it waits for descriptors only. It
// may return early, for example after a signal.
func (w *Waiter) Wait(until vtime.Time) error {
	d := vtime.Duration(vtime.Never)
	if until != vtime.Never {
		d = w.clock.Dilation.Machine(max(0, until.Sub(w.clock.Now())))
	}
	if w.keeps {
		d = min(d, longest)
	}
	var limit *unix.Timespec
	if d != vtime.Duration(vtime.Never) {
		w.limit = unix.NsecToTimespec(int64(d / vtime.Nanosecond))
		limit = &w.limit
	}
	if err := w.poll(limit); err != nil && err != unix.EINTR {
		return fmt.Errorf("packetio: wait: %w", err)
	}
	return nil
}

// poll calls ppoll. Only without keeps does it tell Go's scheduler that the thread blocks.
func (w *Waiter) poll(limit *unix.Timespec) error {
	if !w.keeps {
		_, err := unix.Ppoll(w.polls, limit, nil)
		return err
	}
	_, _, errno := unix.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(unsafe.SliceData(w.polls))),
		uintptr(len(w.polls)), uintptr(unsafe.Pointer(limit)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// Ready reports whether the i-th descriptor was readable, or at its end, when Wait returned.
func (w *Waiter) Ready(i int) bool { return w.polls[i].Revents != 0 }
