package measure

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/packetio"
)

// Host is the speed of a machine at the moment, under its other load.
type Host struct {
	Packets float64        // packets per second from one endpoint over a relay to the other, with taps at both
	Late    vtime.Duration // the longest that a thread waited for a processor, of some hundred times
}

const (
	hostFor   = 100 * time.Millisecond // each of the two measurements
	hostBytes = 1024                   // of a datagram

	// hops is how many times as long a packet of a run takes as a datagram over a pair of sockets: measured on two
	// processors with go-back-N, packets of 1 KiB and the relay, 90 000 a second beside 400 000.
	hops = 4
)

// HostMain is the body of a process that measures the machine as endpoints find it, in a separate session, and writes
// the Host as JSON.
func HostMain(stdout io.Writer) error {
	packetio.Prefer(os.Getpid())
	if err := packetio.LockThread(); err != nil {
		return err
	}
	var h Host
	if err := h.sleep(); err != nil {
		return err
	}
	if err := h.work(); err != nil {
		return err
	}
	return json.NewEncoder(stdout).Encode(h)
}

// now is the last measurement of this process.
var now struct {
	sync.Mutex
	host Host
	at   time.Time
}

// fresh is the time for which a measurement is reused: a suite makes many short runs.
const fresh = 10 * time.Second

// Now measures the machine, unless that was done a moment ago, by the binary that knows the hidden command "process
// host".
func Now(ctx context.Context, self string) (Host, error) {
	now.Lock()
	defer now.Unlock()
	if !now.at.IsZero() && time.Since(now.at) < fresh {
		return now.host, nil
	}
	h, err := ask(ctx, self)
	if err == nil {
		now.host, now.at = h, time.Now()
	}
	return h, err
}

// ask measures the machine.
func ask(ctx context.Context, self string) (h Host, err error) {
	cmd := exec.CommandContext(ctx, self, "process", "host")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	said, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(said, &h)
	}
	if err != nil {
		err = fmt.Errorf("netns: measure this machine: %w; leave it out with --dilate 1", err)
	}
	return h, err
}

// sleep records the largest delay of many short waits.
func (h *Host) sleep() error {
	clock := packetio.NewClock(packetio.Monotonic())
	waiter := packetio.NewWaiter(clock)
	for began := time.Now(); time.Since(began) < hostFor; {
		due := clock.Now().Add(200 * vtime.Microsecond)
		if err := waiter.Wait(due); err != nil {
			return err
		}
		h.Late = max(h.Late, clock.Now().Sub(due))
	}
	return nil
}

// work records the number of datagrams that cross a pair of sockets, and the longest pause of a busy thread meanwhile:
// a thread that sleeps is scheduled sooner.
func (h *Host) work() error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("netns: a pair of sockets: %w", err)
	}
	defer unix.Close(pair[0])
	defer unix.Close(pair[1])
	buf, n, began := make([]byte, hostBytes), 0, time.Now()
	last := began
	for ; last.Sub(began) < hostFor; n++ {
		if _, err := unix.Write(pair[0], buf); err != nil {
			return fmt.Errorf("netns: a pair of sockets: %w", err)
		}
		if _, err := unix.Read(pair[1], buf); err != nil {
			return fmt.Errorf("netns: a pair of sockets: %w", err)
		}
		at := time.Now()
		h.Late, last = max(h.Late, vtime.FromStd(at.Sub(last))), at
	}
	h.Packets = float64(n) / last.Sub(began).Seconds() / hops
	return nil
}
