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

// Middlebox is a node in the path of the connections, with a port on either side. It is as sans-IO as an engine: the
// driver hands it the frames that arrive, with the time, and then drains PollEvent, PollTransmit of either port
// whenever that line is free, and PollTimer last.
//
// Frames reach it decoded, with good ICRC; what does not decode or is no RoCEv2 passes the node without it. The driver
// encodes what it sends, so that a frame that goes out with the fields it came with is the same frame, byte for byte.
type Middlebox interface {
	// HandleFrame takes a frame that arrived at port from. The frame belongs to the driver and is valid during the call
	// only; so is its payload.
	HandleFrame(now vtime.Time, from Port, f *roce.Frame)

	// HandleTimer tells the box that its deadline has come. An early call does nothing.
	HandleTimer(now vtime.Time)

	// PollTransmit fills f with the next frame for port to and reports true, or reports false when there is none now.
	// The payload belongs to the box and is valid until the next call of HandleFrame or PollTransmit.
	PollTransmit(now vtime.Time, to Port, f *roce.Frame) bool

	// Acts returns the attributes with which the box stands in for the end of side A, whose attributes are q: its own
	// retransmission timer, its own depth.
	Acts(q QP) QP

	// PollEvent returns the next thing that the box has to tell.
	PollEvent() (BoxEvent, bool)

	// PollTimer returns the time at which HandleTimer wants to be called; ok is false when no timer runs.
	PollTimer() (deadline vtime.Time, ok bool)
}

// BoxEvent is something that a Middlebox tells about one connection: a variable that has a new value, or a counter that
// advanced.
type BoxEvent struct {
	QPN   uint32 // the connection's number at side B
	Name  string // of the variable or counter
	Value int64
	Count bool // a counter of errors; otherwise a variable
}

// BrokenPromise is the counter of messages that a box has acknowledged and that will not be executed.
const BrokenPromise = "broken_promise"

// BoxConfig is what a Middlebox is built from.
type BoxConfig struct {
	Params Params         // parameters of the scheme, by name
	RTT    vtime.Duration // propagation behind the WAN port, there and back, as an operator knows it
	Detail bool           // tell every change of a variable; otherwise counters only
}
