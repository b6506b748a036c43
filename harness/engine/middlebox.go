package engine

import (
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Port is one of the two ports of a Middlebox.
type Port uint8

// The ports. The LAN port faces side A, the WAN port the emulated link and, behind it, side B.
const (
	LAN Port = iota
	WAN
)

// Other returns the opposite port.
func (p Port) Other() Port { return p ^ 1 }

// Middlebox is a node in the path of the connections, with a port on either side. Like an engine it performs no I/O:
// the driver passes arriving frames to the box, with the time, and then drains PollEvent, PollTransmit of each port
// when the line of that port is free, and PollTimer last.
//
// The box receives decoded frames with a valid ICRC; frames that do not decode or are not RoCEv2 bypass the box. The
// driver encodes the frames that the box sends, so that a frame forwarded with unchanged fields is the same byte for
// byte.
type Middlebox interface {
	// HandleFrame processes a frame that arrived at port from. The frame and its payload belong to the driver and are
	// valid during the call only.
	HandleFrame(now vtime.Time, from Port, f *roce.Frame)

	// HandleTimer processes the expiry of the deadline that PollTimer returned. An early call does nothing.
	HandleTimer(now vtime.Time)

	// PollTransmit fills f with the next frame for port to and reports true, or reports false if there is none now.
	// The payload belongs to the box and is valid until the next call of HandleFrame or PollTransmit.
	PollTransmit(now vtime.Time, to Port, f *roce.Frame) bool

	// Acts returns the attributes with which the box acts as the end of side A towards side B, given the attributes q
	// of that end: the box has its own retransmission timer and depth.
	Acts(q QP) QP

	// PollEvent returns the next event of the box.
	PollEvent() (BoxEvent, bool)

	// PollTimer returns the time at which the driver must call HandleTimer; ok is false if no timer runs.
	PollTimer() (deadline vtime.Time, ok bool)
}

// BoxEvent is a report of a Middlebox about one connection: a new value of a variable or of a counter.
type BoxEvent struct {
	QPN   uint32 // QP number of the connection at side B
	Name  string // name of the variable or counter
	Value int64
	Count bool // Name is a counter of errors, not a variable
}

// BrokenPromise is the counter of messages that a middlebox has acknowledged and that will not be executed.
const BrokenPromise = "broken_promise"

// BoxConfig is the configuration of a Middlebox.
type BoxConfig struct {
	Params Params         // parameters of the scheme, by name
	RTT    vtime.Duration // two-way propagation time beyond the WAN port, as an operator configures it
	Detail bool           // report every change of a variable; otherwise counters only
}
