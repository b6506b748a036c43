package certify

import (
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/spec"
)

// Measured is what was seen of one direction of a link. What was not measured is nil and yields no item; what should
// have been measured and was not is the caller's to report.
type Measured struct {
	Direction string // "A>B"
	Link      spec.Link
	Probes    *Probes
	Burst     *Burst
	Losses    *Losses
	Changes   *Changes
	Tallies   []Tally
	Capture   *Capture
	Schedule  *Schedule
}

// Probes are lone packets on an idle link.
type Probes struct {
	Sent      int
	Delays    []vtime.Duration // one way, of those that arrived, in any order
	WireBytes int              // of each, at layer 1: its own time on the line is part of the delay
}

// Burst is packets sent faster than the line drains, so that the distance of arrivals is the line's.
type Burst struct {
	Arrived   int
	WireBytes int            // of each, at layer 1
	Span      vtime.Duration // from the first arrival to the last
}

// Losses are those of the loss process alone: neither scripted drops nor a full queue's.
type Losses struct {
	Sent    uint64
	Lost    uint64
	Runs    uint64         // groups of consecutive losses
	Over    vtime.Duration // from the first packet sent to the last; needed where the process has slots
	Decided *uint64        // what the link says that it lost, when it counts exactly
}

// Tally is something that a link which counts exactly says it did to so many packets, and in so many it was seen.
// Scripted faults are in both.
type Tally struct {
	What          string // "corruptions"
	Decided, Seen uint64
}

// Changes are what else the link did to packets, scripted faults left out.
type Changes struct {
	Delivered  uint64
	Reordered  uint64 // overtaken by a packet that was sent later
	Duplicated uint64
	Corrupted  uint64
}

// Capture is whether the taps saw everything.
type Capture struct {
	Frames uint64
	Drops  uint64 // by the kernel, because a tap was slow
}

// Schedule is how well the link kept time, and whether it kept up at all.
type Schedule struct {
	LateP99  vtime.Duration // departure after the planned time
	LateMax  vtime.Duration
	Overflow uint64 // frames for which the link's own memory was too small, or which the kernel dropped before it
}

// Bounds are how far a link may be from its Spec.
type Bounds struct {
	Delay      unit.Ratio     // of the delay
	DelayLeast vtime.Duration // but never less: a wake-up of an ordinary kernel
	Rate       unit.Ratio     // of the rate
	Sigma      float64        // standard deviations of a random count
	StallLeast vtime.Duration // the longest stall may be one delay, and this much in any case
	Probes     int            // fewer say nothing
}

// DefaultBounds returns the bounds of a general-purpose host.
func DefaultBounds() Bounds {
	return Bounds{
		Delay: 0.05, DelayLeast: 500 * vtime.Microsecond, Rate: 0.05, Sigma: 5,
		StallLeast: 20 * vtime.Millisecond, Probes: 20,
	}
}
