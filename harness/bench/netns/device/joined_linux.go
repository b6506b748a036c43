package device

import (
	"os"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/child"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/netem/certify"
)

// Joiner is a place whose device is at the other end of a real cable.
type Joiner interface {
	// Join joins the cable to the device's end of the network.
	Join(End) (Joined, error)
}

// End is the device's end of the network on this machine.
type End struct {
	Side   trace.Side
	Device string // network device of the end, in the namespace of the process that Launch starts
	Base   int64  // time zero of the bench, CLOCK_MONOTONIC

	// Launch starts the process of a cable in the namespace of the end. It inherits the files, from descriptor 3 on.
	Launch func(files ...*os.File) (*child.Child, error)
}

// Joined is a cable that carries frames.
type Joined interface {
	Begin()                           // the run begins: from here on delays count
	End()                             // the run ends: from here on delays do not count
	Close() error                     // a second call does nothing
	Certify() ([]certify.Item, error) // closes it, and reports whether all frames have passed
}
