package process

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/topology"
	"github.com/rdma-gauntlet/gauntlet/harness/drive"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// A silenced kernel has no route to the peer, and its routes to others remain.
func TestSilence(t *testing.T) {
	if err := topology.Privileged(); err != nil {
		t.Skip(err)
	}
	top, err := topology.Open(topology.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer top.Close()
	reach := func(to [4]byte) error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		// connects a datagram socket, which looks up a route and sends nothing
		return unix.Connect(fd, &unix.SockaddrInet4{Port: 9, Addr: to})
	}
	peer, other := drive.Addr(trace.B).As4(), [4]byte{10, 77, 0, 99}
	err = top.A.Do(func() error {
		if err := errors.Join(reach(peer), reach(other)); err != nil {
			return err
		}
		if err := (&sockets{side: trace.A}).silence(); err != nil {
			return err
		}
		if err := reach(peer); err == nil {
			t.Error("there is still a route to the peer")
		}
		return reach(other)
	})
	if err != nil {
		t.Error(err)
	}
}

// A paced socket leaves room on the line for headers, whatever the size of its segments.
func TestPacing(t *testing.T) {
	for _, c := range []struct{ mss, want int }{{1460, 11768530}, {128, 7038834}} {
		if got := pacing(100_000_000, c.mss); got != c.want {
			t.Errorf("segments of %d: %d bytes in a second, want %d", c.mss, got, c.want)
		}
	}
	if pacing(0, 1460) != 0 {
		t.Error("a line without a rate has one")
	}
}
