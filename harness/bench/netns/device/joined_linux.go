package device

import (
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/netem/certify"
	"github.com/rdma-gauntlet/gauntlet/netem/packetio"
)

// Joiner is a place whose device is at the other end of a real cable.
type Joiner interface {
	// Join joins the cable to the device's end of the network.
	Join(End) (Joined, error)
}

// End is the device's end of the network on this machine.
type End struct {
	Side trace.Side
	Open func(*packetio.Clock, packetio.Options) (*packetio.Port, error) // opens the end's network device
	Base int64                                                           // time zero of the bench, CLOCK_MONOTONIC
}

// Joined is a cable that carries frames.
type Joined interface {
	Begin()                           // the run begins: what is late from here on is of it
	End()                             // it is over: what is late from here on is not
	Close() error                     // a second call does nothing
	Certify() ([]certify.Item, error) // ends it, and says whether all frames have passed
}
