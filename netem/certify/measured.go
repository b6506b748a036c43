package certify

import (
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/spec"
)

// Measured holds the measurements of one direction of a link. A measurement that was not made is nil and yields no
// item; the caller reports measurements that are missing.
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

// Probes are single packets on an idle link.
type Probes struct {
	Sent      int              // probes sent
	Delays    []vtime.Duration // one-way delays of the probes that arrived, in any order
	WireBytes int              // layer-1 bytes of a probe, whose transmission time is part of the delay
}

// Burst is a sequence of packets sent faster than the line rate, so that the rate determines the interval of arrivals.
type Burst struct {
	Arrived   int            // packets that arrived
	WireBytes int            // layer-1 bytes of each packet
	Span      vtime.Duration // from the first arrival to the last
}

// Losses are the losses of the loss process, without scripted drops and drops of a full queue.
type Losses struct {
	Sent    uint64
	Lost    uint64
	Runs    uint64         // groups of consecutive losses
	Over    vtime.Duration // from the first packet sent to the last; needed where the process has slots
	Decided *uint64        // losses that the link itself reports; nil if it does not count exactly
}

// Tally compares the number of packets that an exactly counting link reports to have impaired with the number observed.
// Scripted faults are in both.
type Tally struct {
	What    string // kind of impairment: "corruptions"
	Decided uint64 // packets that the link reports
	Seen    uint64 // packets observed at the taps
}

// Changes are the other impairments observed, without scripted faults.
type Changes struct {
	Delivered  uint64
	Reordered  uint64 // overtaken by a packet that was sent later
	Duplicated uint64
	Corrupted  uint64
}

// Capture is the completeness of the capture at the taps.
type Capture struct {
	Frames uint64
	Drops  uint64 // by the kernel, because a tap was slow
	// Arriving frames that the kernel passed to the tap behind later ones, and so perhaps to the endpoint.
	Swapped uint64
}

// Schedule is the timing accuracy and the overload of a link in software.
type Schedule struct {
	LateP99  vtime.Duration // departure after the planned time
	LateMax  vtime.Duration
	Overflow uint64 // frames for which the link's own memory was too small, or which the kernel dropped before it
}

// Bounds are the permitted deviations of a link from its Spec.
type Bounds struct {
	Delay      unit.Ratio     // deviation of the delay, relative
	DelayLeast vtime.Duration // smallest deviation of the delay to be allowed: a wake-up of an ordinary kernel
	Rate       unit.Ratio     // deviation of the rate, relative
	Sigma      float64        // deviation of a random count, in standard deviations
	StallLeast vtime.Duration // the longest stall may be one delay, or StallLeast if that is more
	Probes     int            // minimum number of probes for a statement about the delay
}

// DefaultBounds returns the bounds of a general-purpose host.
func DefaultBounds() Bounds {
	return Bounds{
		Delay: 0.05, DelayLeast: 500 * vtime.Microsecond, Rate: 0.05, Sigma: 5,
		StallLeast: 20 * vtime.Millisecond, Probes: 20,
	}
}
