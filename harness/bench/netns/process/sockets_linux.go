package process

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/topology"
	"github.com/rdma-gauntlet/gauntlet/harness/drive"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/iwarp"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/netem/packetio"
)

// sockets are the connections of an endpoint whose QPs the kernel's TCP carries, one each. They use the ports of
// TCP-lite, so that captures of both look the same. The kernel repeats a SYN that is lost, and gives up after about two
// minutes; a run has a limit of its own.
type sockets struct {
	end      *drive.Endpoint
	side     trace.Side
	epoll    int    // of all sockets, edge-triggered
	listener int    // -1 when this end opens every connection
	pace     int    // bytes of data in a second that a socket may send; 0 is without limit
	where    string // which processor TCP works on
	conns    []*socket
	ready    [64]unix.EpollEvent
}

// anyConn marks the listener among the descriptors of epoll.
const anyConn = -1

// openSockets opens the sockets of an endpoint in the namespace of the process. They listen, but connect later: the
// first SYN belongs to the run. They share the rate of the line as if it were that of a port: the device itself has no
// rate, and a whole window sent at once would overflow the link's queue, as no NIC on such a line could do.
func openSockets(end *drive.Endpoint, sp *scenario.Spec, side trace.Side, line unit.Rate) (s *sockets, err error) {
	s = &sockets{end: end, side: side, listener: -1, conns: make([]*socket, sp.QPs)}
	s.pace = pacing(line/unit.Rate(sp.QPs), end.TCP(0).MSS)
	if s.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, fmt.Errorf("netns: epoll: %w", err)
	}
	buf := make([]byte, readMost)
	for i := range s.conns {
		c := &socket{fd: -1, buf: buf}
		s.conns[i] = c
		end.Attach(i, c)
		if o := end.TCP(i); o.Active {
			c.fd, err = s.bound(iwarp.PortOf(sp.Ends(i)[side].QPN), o)
		} else if s.listener < 0 {
			err = s.listen(o)
		}
		if err != nil {
			s.close()
			return nil, err
		}
	}
	return s, nil
}

// pacing returns the number of data bytes that fill a line in a second, in segments of mss with the options that Linux
// uses. A segment has another 20 bytes of IP, 20 of TCP and 38 of layers 1 and 2.
func pacing(line unit.Rate, mss int) int {
	const options, headers = 12, 78
	return int(float64(line) / 8 * float64(mss-options) / float64(mss+headers))
}

// bound opens a socket with the options of a stream, bound to a port of the side.
func (s *sockets) bound(port uint16, o engine.TCPOptions) (int, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("netns: TCP socket: %w", err)
	}
	if err = s.tune(fd, o); err == nil {
		err = unix.Bind(fd, &unix.SockaddrInet4{Port: int(port), Addr: drive.Addr(s.side).As4()})
	}
	if err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("netns: TCP port %d at %s: %w", port, s.side, err)
	}
	return fd, nil
}

// unsentMost bounds the bytes in a socket that TCP may not send yet: enough for a loop that wakes a quarter of a
// millisecond late on a line of 1 Gb/s, and so few that filling the socket occupies the processor, for which the peer
// may wait, for at most a millisecond.
const unsentMost = 32 << 10

// tune sets the options of a stream: segments are sent when they are written, and acknowledgements are signalled. An
// accepted socket inherits the options.
func (s *sockets) tune(fd int, o engine.TCPOptions) error {
	for _, opt := range []struct{ level, name, value int }{
		{unix.SOL_SOCKET, unix.SO_REUSEADDR, 1},
		{unix.SOL_SOCKET, unix.SO_TIMESTAMPING,
			unix.SOF_TIMESTAMPING_TX_ACK | unix.SOF_TIMESTAMPING_SOFTWARE | unix.SOF_TIMESTAMPING_OPT_TSONLY},
		{unix.IPPROTO_TCP, unix.TCP_NODELAY, 1},
		{unix.IPPROTO_TCP, unix.TCP_MAXSEG, o.MSS},
		{unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, unsentMost},
	} {
		if err := unix.SetsockoptInt(fd, opt.level, opt.name, opt.value); err != nil {
			return fmt.Errorf("socket option %d of level %d: %w", opt.name, opt.level, err)
		}
	}
	if s.pace > 0 {
		if err := unix.SetsockoptUint64(fd, unix.SOL_SOCKET, unix.SO_MAX_PACING_RATE, uint64(s.pace)); err != nil {
			return fmt.Errorf("pacing at %d bytes in a second: %w", s.pace, err)
		}
	}
	if o.Congestion == "" {
		return nil
	}
	if err := unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, o.Congestion); err != nil {
		return fmt.Errorf("congestion=%s: %w; /proc/sys/net/ipv4/tcp_available_congestion_control lists "+
			"what this kernel has", o.Congestion, err)
	}
	return nil
}

// listen waits for the connections that the peer opens.
func (s *sockets) listen(o engine.TCPOptions) (err error) {
	if s.listener, err = s.bound(iwarp.Port, o); err != nil {
		return err
	}
	if err = unix.Listen(s.listener, len(s.conns)); err != nil {
		return fmt.Errorf("netns: listen at %s: %w", s.side, err)
	}
	return s.watch(s.listener, anyConn)
}

// watch registers a descriptor with epoll under the number of its connection.
func (s *sockets) watch(fd, conn int) error {
	e := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLET, Fd: int32(conn)}
	if err := unix.EpollCtl(s.epoll, unix.EPOLL_CTL_ADD, fd, &e); err != nil {
		return fmt.Errorf("netns: watch a socket: %w", err)
	}
	return nil
}

// connect opens the connections that this end is to open.
func (s *sockets) connect() error {
	peer := &unix.SockaddrInet4{Port: iwarp.Port, Addr: drive.Addr(s.side.Other()).As4()}
	for i, c := range s.conns {
		if c.fd < 0 {
			continue
		}
		if err := unix.Connect(c.fd, peer); err != nil && !errors.Is(err, unix.EINPROGRESS) {
			return fmt.Errorf("netns: connect QP %d: %w", i, err)
		}
		if err := s.watch(c.fd, i); err != nil {
			return err
		}
	}
	return nil
}

// serve passes every socket with an event to the endpoint.
func (s *sockets) serve(clock *packetio.Clock) error {
	for {
		n, err := unix.EpollWait(s.epoll, s.ready[:], 0)
		if err != nil && err != unix.EINTR {
			return fmt.Errorf("netns: epoll: %w", err)
		}
		for _, e := range s.ready[:max(0, n)] {
			if e.Fd != anyConn {
				s.look(clock, int(e.Fd))
			} else if err := s.accept(clock); err != nil {
				return err
			}
		}
		if n < len(s.ready) {
			return nil
		}
	}
}

// look passes the state of a socket to the endpoint, with a time after its arrival: in the trace, a report of an
// endpoint must not precede the packet that caused it.
func (s *sockets) look(clock *packetio.Clock, i int) {
	for more := true; more; {
		more = s.conns[i].fetch()
		s.end.Serve(clock.Now(), i)
	}
}

// accept accepts the waiting connections; the port of the peer identifies the connection.
func (s *sockets) accept(clock *packetio.Clock) error {
	for {
		fd, from, err := unix.Accept4(s.listener, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
		switch err {
		case nil:
		case unix.EINTR, unix.ECONNABORTED:
			continue
		case unix.EAGAIN:
			return nil
		default:
			return fmt.Errorf("netns: accept at %s: %w", s.side, err)
		}
		peer, _ := from.(*unix.SockaddrInet4)
		i, ok := s.end.ConnOf(uint16(peer.Port), iwarp.Port)
		if !ok || s.conns[i].fd >= 0 {
			unix.Close(fd) // no connection has this port: the kernel resets it
			continue
		}
		s.conns[i].fd = fd
		if err := s.watch(fd, i); err != nil {
			return err
		}
		s.look(clock, i)
	}
}

// String describes the TCP: its kernel, its congestion control and its processor.
func (s *sockets) String() string {
	fd := s.listener
	if fd < 0 {
		fd = s.conns[0].fd
	}
	name, err := unix.GetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION)
	if err != nil {
		name = "congestion control unknown"
	}
	return fmt.Sprintf("%s, %s, %s", engine.KernelTCP, name, s.where)
}

// silence stops everything that the kernel sends: a packet after the run, be it data or an answer, would disturb the
// measurement of the idle link. Closing the sockets would not suffice, because a kernel answers segments without a
// connection.
func (s *sockets) silence() error {
	err := topology.Blackhole(drive.Addr(s.side.Other()).AsSlice())
	if errors.Is(err, unix.EPERM) { // a container must leave this to the bench
		return nil
	}
	return err
}

// close releases all descriptors.
func (s *sockets) close() {
	fds := []int{s.epoll, s.listener}
	for _, c := range s.conns {
		if c != nil {
			fds = append(fds, c.fd)
		}
	}
	for _, fd := range fds {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
}
