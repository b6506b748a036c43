package drive

import (
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Socket is one end of a connection that the host's TCP carries. No call waits for the peer.
type Socket interface {
	// MSS returns how many bytes of data a segment carries at most, and 0 before the connection is established.
	MSS() int

	// Write takes the beginning of b, which is to begin a segment, and returns how much that was: all of it, unless the
	// socket is full.
	Write(b []byte) int

	// Read returns the bytes that arrived next, nil when none are there; they are valid until the next call.
	Read() []byte

	// Acked returns how many of the bytes written the peer's TCP has acknowledged.
	Acked() uint64

	// State returns how far the connection is.
	State() SocketState

	// CloseWrite ends this end's half of the connection behind what was written. A second call does nothing.
	CloseWrite()
}

// SocketState is how far a connection is.
type SocketState uint8

// The states.
const (
	SocketOpen       SocketState = iota // or about to be
	SocketPeerClosed                    // the peer sends nothing more, and all that it sent has been read
	SocketReset                         // the peer wants no more of it
	SocketTimedOut                      // the peer was not reached, although TCP tried again
)

// carried is a QP whose packets are made by the host's TCP.
type carried struct {
	stream engine.Stream
	socket Socket
	up     bool
	buf    []byte // what the stream gave last
	rest   []byte // of that, what the socket had no room for
}

// newHalves builds the two halves of connection i, over packets or over the host's TCP.
func (e *Endpoint) newHalves(i int, attr engine.QP, streams bool) (engine.Requester, engine.Responder, *carried, error) {
	mem := e.memoryOf(i)
	if !streams {
		req, resp, err := e.host.New(attr, mem)
		return req, resp, nil, err
	}
	if attr.RateControl != "" {
		return nil, nil, nil, fmt.Errorf("cc=%s around the kernel's TCP, which has its own: --param congestion=NAME, or tcp=lite", attr.RateControl)
	}
	s, err := e.impl.NewStream(attr, mem)
	return streamHalf{s}, streamHalf{s}, &carried{stream: s}, err
}

// streamHalf is either half of a QP over the host's TCP: it is posted to and heard, and has no packets and no timer.
type streamHalf struct{ engine.Stream }

func (streamHalf) HandlePacket(vtime.Time, *roce.Packet)      {}
func (streamHalf) HandleTimer(vtime.Time)                     {}
func (streamHalf) PollTransmit(vtime.Time, *roce.Packet) bool { return false }
func (streamHalf) PollTimer() (vtime.Time, bool)              { return 0, false }

// Attach gives connection i its socket, before Start.
func (e *Endpoint) Attach(i int, s Socket) { e.qps[i].tcp.socket = s }

// TCP returns what the stream of connection i asks of its socket.
func (e *Endpoint) TCP(i int) engine.TCPOptions { return e.qps[i].tcp.stream.TCP() }

// Serve takes what the socket of connection i has to tell: what is acknowledged completes before what arrived behind it is
// looked at.
func (e *Endpoint) Serve(now vtime.Time, i int) {
	e.now = now
	q := &e.qps[i]
	c := q.tcp
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
	q.want[requester] = true
	e.drain(i, requester)
}

// Carry gives the sockets what the streams have to send, one FPDU of each in turn, until there is no more or the sockets
// that could take it are full. One that has room again is Served, which continues.
func (e *Endpoint) Carry(now vtime.Time) {
	e.now = now
	for i, any := e.next(); any; i, any = e.next() {
		q := &e.qps[i]
		q.want[responder] = false
		q.want[requester] = q.tcp.carry()
		e.drain(i, requester)
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
