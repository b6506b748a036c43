package link

import (
	"github.com/rdma-gauntlet/gauntlet/harness/merge"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// stage is a part of a link: a frame meets the stages of a hop one after the other. The relay carries frames from port
// to port with its configured impairments; the kernel's netem acts where frames leave a port, whatever their sender.
type stage interface {
	open() error
	close() error
	quiet() error                     // rate and delay only, so that measuring consumes no draws
	loud(epoch vtime.Time) error      // everything, from fresh random streams
	busy() (bool, error)              // packets are on their way
	report() (Report, error)          // of the traffic so far
	fates() ([]merge.LinkFate, error) // ends the stage; nil where it keeps no log
	ended() <-chan struct{}           // closed when the stage has died; nil where it cannot
	death() error                     // the reason of its death
}

// Report is the link's own account of its work, for the certificate.
type Report struct {
	LateP99  vtime.Duration // departures behind their time; 0 for netem, which does not say
	LateMax  vtime.Duration
	Overflow uint64     // packets for which the bench, not the emulated queue, had no room
	Exact    bool       // the link counts its losses exactly
	Lost     [2]uint64  // those of the loss process, by sender
	Made     [2]uint64  // crafted packets, by the sender whose they seem to be
	Damaged  [2]uint64  // packets that it delivered with a flipped bit, whether by a script or at random
	Copied   [2]uint64  // extra copies that it made
	Underway bool       // it still holds packets, so that not all of these have arrived
	Tallies  [2][]Tally // what else it counts, by sender
}

// Tally is something that a link counts exactly, to be held against what the taps have seen.
type Tally struct {
	What    string
	Cause   string  // of the records that the taps have of it; empty is all packets that the side sent
	Decided uint64  // by the link
	Done    *uint64 // what it did of that, where the link itself is the only witness
}
