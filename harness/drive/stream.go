package drive

import (
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Socket is one end of a connection that the host's TCP carries. No call blocks.
type Socket interface {
	// MSS returns the largest amount of data in a segment, in bytes; 0 before the connection is established.
	MSS() int

	// Write takes data from the beginning of b, which should begin a segment, and returns the number of bytes taken:
	// all of b, unless the socket is full.
	Write(b []byte) int

	// Read returns the next bytes that have arrived, nil when there are none; they are valid until the next call.
	Read() []byte

	// Acked returns how many of the bytes written the peer's TCP has acknowledged.
	Acked() uint64

	// State returns the state of the connection.
	State() SocketState

	// CloseWrite closes this end's half of the connection after all written data. A second call does nothing.
	CloseWrite()
}

// SocketState is the state of a connection.
type SocketState uint8

// The states.
const (
	SocketOpen       SocketState = iota // established, or being established
	SocketPeerClosed                    // the peer has closed its half, and all its data has been read
	SocketReset                         // the peer has reset the connection
	SocketTimedOut                      // the peer did not answer, although TCP tried again
)

// carried is the state of a QP whose packets the host's TCP makes.
type carried struct {
	stream engine.Stream
	socket Socket
	up     bool
	buf    []byte // last FPDU of the stream
	rest   []byte // the part of buf for which the socket had no room
}

// halves are the two halves of a QP; tcp is the host's TCP below them, nil when the halves make packets.
type halves struct {
	req  engine.Requester
	resp engine.Responder
	tcp  *carried
}

// newHalves builds the halves of a QP, over packets or over the host's TCP.
func newHalves(impl *engine.Implementation, host engine.Host, attr engine.QP, mem engine.Memory,
	streams bool) (halves, error) {
	if !streams {
		req, resp, err := host.New(attr, mem)
		return halves{req: req, resp: resp}, err
	}
	if attr.RateControl != "" {
		return halves{}, fmt.Errorf(
			"cc=%s around the kernel's TCP, which has its own: --param congestion=NAME, or tcp=lite", attr.RateControl)
	}
	s, err := impl.NewStream(attr, mem)
	return halves{streamHalf{s}, streamHalf{s}, &carried{stream: s}}, err
}

// streamHalf is either half of a QP over the host's TCP: it takes posts and reports events, but has no packets and no
// timer.
type streamHalf struct{ engine.Stream }

func (streamHalf) HandlePacket(vtime.Time, *roce.Packet)      {}
func (streamHalf) HandleTimer(vtime.Time)                     {}
func (streamHalf) PollTransmit(vtime.Time, *roce.Packet) bool { return false }
func (streamHalf) PollTimer() (vtime.Time, bool)              { return 0, false }

// serve passes the progress of the socket to the stream.
func (c *carried) serve(now vtime.Time) {
	if mss := c.socket.MSS(); !c.up && mss > 0 {
		c.up = true
		c.stream.Up(mss)
	}
	c.stream.Acked(c.socket.Acked())
	for b := c.socket.Read(); b != nil; b = c.socket.Read() {
		c.stream.Take(now, b)
	}
	switch c.socket.State() {
	case SocketPeerClosed:
		c.stream.PeerClosed()
	case SocketReset:
		c.stream.Down(engine.StatusRemoteOp)
	case SocketTimedOut:
		c.stream.Down(engine.StatusRetryExceeded)
	}
}

// carry writes one FPDU and reports whether another may follow.
func (c *carried) carry() bool {
	if !c.up {
		return false
	}
	if len(c.rest) == 0 {
		c.buf = c.stream.Next(c.buf[:0])
		c.rest = c.buf
	}
	n := 0
	if len(c.rest) > 0 {
		n = c.socket.Write(c.rest)
		c.rest = c.rest[n:]
	}
	if len(c.rest) == 0 && c.stream.Closing() {
		c.socket.CloseWrite()
	}
	return n > 0 && len(c.rest) == 0
}
