package engine

import "github.com/rdma-gauntlet/gauntlet/harness/vtime"

// Stream is one end of a QP that sends a byte stream instead of packets. The TCP of the host forms the segments,
// retransmits lost ones, and delivers the peer's bytes in order. Like an Engine, a Stream is a pure state machine, and
// its events are drained after every call.
type Stream interface {
	// TCP returns the options of the connection below the stream.
	TCP() TCPOptions

	// Up reports that the connection is established; mss is the maximum number of data bytes in a segment.
	Up(mss int)

	// Next appends to b the next bytes to be sent, which belong into one segment; it returns b unchanged if there is
	// nothing to send now. The driver calls Next again when the connection has taken all of the bytes.
	Next(b []byte) []byte

	// Take processes the next bytes of the peer, in order; b is valid during the call.
	Take(now vtime.Time, b []byte)

	// Acked reports that the peer's TCP has acknowledged the first n bytes that Next returned, counted from Up.
	Acked(n uint64)

	// Closing reports whether Next will never return bytes again, so that this end's half of the connection can be
	// closed.
	Closing() bool

	// PeerClosed reports that the peer has closed its half of the connection. A second call does nothing.
	PeerClosed()

	// Down reports that the connection is gone; outstanding requests fail with status why. A second call does nothing.
	Down(why Status)

	// The methods below are those of Requester and Responder.
	Post(now vtime.Time, wr WorkRequest) error
	PostReceive(now vtime.Time, rr ReceiveRequest) error
	PollEvent() (Event, bool)
	Flush(now vtime.Time)
}

// TCPOptions are the options of the TCP connection below a Stream.
type TCPOptions struct {
	Active     bool   // this end opens the connection, the other listens
	MSS        int    // bytes of the largest segment that this end accepts, options included; announced in its SYN
	Congestion string // name of the host's congestion control; "" is the host's default
}

// TCPParam is the parameter by which a run of an implementation with NewStream chooses its TCP. AnyTCP, its default,
// takes the kernel's on a bench that has a kernel, and the implementation's own elsewhere.
const (
	TCPParam  = "tcp"
	AnyTCP    = "auto"
	KernelTCP = "kernel"
	LiteTCP   = "lite"
)
