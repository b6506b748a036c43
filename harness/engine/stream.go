package engine

import "github.com/rdma-gauntlet/gauntlet/harness/vtime"

// Stream is one end of a QP that speaks a byte stream instead of packets. TCP is the host's: it makes the segments,
// repeats what is lost, and hands on the bytes of the peer in their order. Like an Engine it is a pure state machine,
// and its events are drained after every call.
type Stream interface {
	// TCP returns what the stream asks of the connection below it.
	TCP() TCPOptions

	// Up says that the connection is established, and how many bytes of data its segments carry at most.
	Up(mss int)

	// Next appends to b the next bytes to be sent, which belong into one segment; b stays as it is when there is
	// nothing to send now. The next call comes when the connection has taken all of them.
	Next(b []byte) []byte

	// Take takes the bytes that arrived next; they are valid during the call.
	Take(now vtime.Time, b []byte)

	// Acked says that the peer's TCP has acknowledged the first n bytes that Next returned.
	Acked(n uint64)

	// Closing reports that Next will never return anything again: this end's half of the connection can be closed.
	Closing() bool

	// PeerClosed says that nothing more will arrive. A second call does nothing.
	PeerClosed()

	// Down says that the connection is gone, and with which status what is outstanding fails. A second call does
	// nothing.
	Down(why Status)

	// These are as of Requester and Responder.
	Post(now vtime.Time, wr WorkRequest) error
	PostReceive(now vtime.Time, rr ReceiveRequest) error
	PollEvent() (Event, bool)
	Flush(now vtime.Time)
}

// TCPOptions is what a Stream asks of the TCP of its host.
type TCPOptions struct {
	Active     bool   // this end opens the connection, the other listens
	MSS        int    // the largest segment that this end takes, options included; it announces that with its SYN
	Congestion string // congestion control by the host's name for it; "" is the host's default
}

// TCPParam is the parameter by which a run of an implementation with NewStream chooses its TCP. AnyTCP, its default,
// takes the kernel's on a bench that has a kernel, and the implementation's own elsewhere.
const (
	TCPParam  = "tcp"
	AnyTCP    = "auto"
	KernelTCP = "kernel"
	LiteTCP   = "lite"
)
