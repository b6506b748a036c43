package measure

import (
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/packetio"
)

// Host is what a machine can do at the moment, with all that runs on it besides.
type Host struct {
	Packets float64        // that it carries in a second from one endpoint over a relay to the other, tapped at both
	Late    vtime.Duration // the longest that a thread waited for a processor, of some hundred times
}

const (
	hostFor   = 100 * time.Millisecond // each of the two measurements
	hostBytes = 1024                   // of a datagram

	// hops is how many times as long a packet of a run takes as a datagram over a pair of sockets: measured with go-back-N, 1 KiB and the
	// relay on two processors.
	hops = 20
)

// Now measures the machine, on a thread of its own that has the priority of an endpoint's.
func Now() (h Host, err error) {
	done := make(chan struct{})
	go func() { // its thread is not unlocked, and so ends with it
		defer close(done)
		if err = packetio.LockThread(); err != nil {
			return
		}
		_ = unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), -15) // without the privilege as it is, like an endpoint
		if h.Late, err = waits(); err == nil {
			h.Packets, err = carries()
		}
	}()
	<-done
	return h, err
}

// waits returns by how much the latest of many short waits was too long.
func waits() (late vtime.Duration, err error) {
	clock := packetio.NewClock(packetio.Monotonic())
	waiter := packetio.NewWaiter(clock)
	for began := time.Now(); time.Since(began) < hostFor; {
		due := clock.Now().Add(200 * vtime.Microsecond)
		if err := waiter.Wait(due); err != nil {
			return 0, err
		}
		late = max(late, clock.Now().Sub(due))
	}
	return late, nil
}

// carries returns how many packets a second the machine has time for, by how many datagrams cross a pair of sockets.
func carries() (float64, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, fmt.Errorf("netns: a pair of sockets: %w", err)
	}
	defer unix.Close(pair[0])
	defer unix.Close(pair[1])
	buf, n, began := make([]byte, hostBytes), 0, time.Now()
	for ; time.Since(began) < hostFor; n++ {
		if _, err := unix.Write(pair[0], buf); err != nil {
			return 0, fmt.Errorf("netns: a pair of sockets: %w", err)
		}
		if _, err := unix.Read(pair[1], buf); err != nil {
			return 0, fmt.Errorf("netns: a pair of sockets: %w", err)
		}
	}
	runtime.KeepAlive(buf)
	return float64(n) / time.Since(began).Seconds() / hops, nil
}
