package link

import (
	"github.com/rdma-gauntlet/gauntlet/harness/merge"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// stage is a part of a link: a frame passes the stages of a hop one after the other. The relay forwards frames between
// the ports with its configured impairments; the kernel's netem acts at the egress of a port, whatever the sender.
type stage interface {
	open() error
	close() error
	delayOnly() error                 // rate and delay only, so that measuring consumes no draws
	impairAll(epoch vtime.Time) error // everything, from fresh random streams
	busy() (bool, error)              // packets are on their way
	report() (Report, error)          // on the traffic so far
	fates() ([]merge.LinkFate, error) // ends the stage; nil when it keeps no log
	ended() <-chan struct{}           // closed when the stage has died; nil when it cannot die
	death() error                     // the reason of its death
}

// Report is the link's report about its own work, for the certificate.
type Report struct {
	LateP99  vtime.Duration // lateness of departures; 0 for netem, which does not report it
	LateMax  vtime.Duration
	Overflow uint64     // packets for which the bench, not the emulated queue, had no room
	Exact    bool       // the link counts its losses exactly
	Lost     [2]uint64  // losses of the loss process, by sender
	Made     [2]uint64  // crafted packets, by the sender whose they seem to be
	Damaged  [2]uint64  // packets that it delivered with a flipped bit, whether by a script or at random
	Copied   [2]uint64  // extra copies that it made
	Underway bool       // the link still has packets, so not all of them have arrived
	Tallies  [2][]Tally // other counts of the link, by sender
}

// Tally is an exact count of the link, to be compared with the packets that the taps have captured.
type Tally struct {
	What    string
	Cause   string  // cause of the records to count in the trace; empty is all packets that the side sent
	Decided uint64  // count of the link
	Done    *uint64 // how many of these took effect, when only the link itself knows
}
