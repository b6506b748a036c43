package process

import (
	"golang.org/x/sys/unix"

	"github.com/rdma-gauntlet/gauntlet/harness/drive"
)

// readMost is the number of bytes read from a socket at once.
const readMost = 64 << 10

// socket is one connection of the kernel. fetch updates its state, which the methods of drive.Socket return.
type socket struct {
	fd      int // -1 until the peer has connected
	mss     int
	written uint64
	acked   uint64
	state   drive.SocketState
	closed  bool   // this end's half
	buf     []byte // shared: the fetched bytes are used before the next call
	got     []byte // fetched bytes, in buf
}

// fetch reads the bytes that have arrived, and reports whether more may wait.
func (c *socket) fetch() (more bool) {
	c.acked = c.acknowledged()
	if c.state != drive.SocketOpen {
		return false
	}
	n, err := unix.Read(c.fd, c.buf)
	switch {
	case n > 0:
		c.got = c.buf[:n]
		return true
	case err == unix.EINTR:
		return true
	case err == unix.EAGAIN:
	case err == nil:
		c.state = drive.SocketPeerClosed
	case err == unix.ETIMEDOUT, err == unix.EHOSTUNREACH:
		c.state = drive.SocketTimedOut
	default:
		c.state = drive.SocketReset
	}
	return false
}

// acknowledged returns the number of written bytes that have been acknowledged. It empties the error queue, whose
// messages only say that data has been acknowledged, to wake the loop.
func (c *socket) acknowledged() uint64 {
	var control [128]byte
	for {
		if _, _, _, _, err := unix.Recvmsg(c.fd, nil, control[:], unix.MSG_ERRQUEUE|unix.MSG_DONTWAIT); err != nil &&
			err != unix.EINTR {
			break
		}
	}
	waits, err := unix.IoctlGetInt(c.fd, unix.SIOCOUTQ) // unacknowledged bytes, and one for a FIN
	if err != nil {
		return c.acked
	}
	return c.written - min(c.written, uint64(waits))
}

// MSS implements drive.Socket.
func (c *socket) MSS() int {
	if c.mss > 0 || c.fd < 0 {
		return c.mss
	}
	info, err := unix.GetsockoptTCPInfo(c.fd, unix.IPPROTO_TCP, unix.TCP_INFO)
	if err == nil && info.State != unix.BPF_TCP_SYN_SENT && info.State != unix.BPF_TCP_CLOSE {
		c.mss = int(info.Snd_mss)
	}
	return c.mss
}

// Write implements drive.Socket. MSG_EOR keeps the kernel from adding the next data to the same segment, also in a
// retransmission, so that every segment begins with an FPDU (RFC 5044, 5).
func (c *socket) Write(b []byte) int {
	n, err := unix.SendmsgN(c.fd, b, nil, nil, unix.MSG_EOR|unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT)
	if err != nil {
		return 0 // the socket is full, or closed, which fetch reports
	}
	c.written += uint64(n)
	return n
}

// Read implements drive.Socket.
func (c *socket) Read() []byte {
	b := c.got
	c.got = nil
	return b
}

// Acked implements drive.Socket.
func (c *socket) Acked() uint64 { return c.acked }

// State implements drive.Socket.
func (c *socket) State() drive.SocketState { return c.state }

// CloseWrite implements drive.Socket.
func (c *socket) CloseWrite() {
	if c.fd >= 0 && !c.closed {
		c.closed = true
		_ = unix.Shutdown(c.fd, unix.SHUT_WR) // of a connection that is gone it fails, and changes nothing
	}
}
