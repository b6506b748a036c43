// Package spec describes emulated links as plain data. The benches apply a Spec, and read back what they have applied.
//
// A packet passes the impairments in this order: scripted faults, loss, queue, rate, delay and jitter, reordering,
// duplication, corruption. Sim and the relay share one implementation of that order (package channel); the kernel's
// netem has its own, and the differences are listed in package tc.
package spec

import (
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Link is one direction of an emulated link.
type Link struct {
	Rate  unit.Rate      // layer-1 rate; 0 is unlimited
	Delay vtime.Duration // propagation delay, one way
	// The delay of each packet is uniform in [Delay-Jitter, Delay+Jitter]; packets may overtake each other.
	Jitter vtime.Duration
	Queue  int // maximum number of packets that wait for the line, at least 1; another is dropped
	// In virtual time, the rate of the sender's port, which fills the queue when it exceeds Rate; 0 is Rate.
	Port      unit.Rate
	Mark      Mark // explicit congestion notification by the queue
	Loss      Loss
	Reorder   unit.Ratio // share of packets that skip the delay
	Duplicate unit.Ratio // share of packets delivered twice
	Corrupt   unit.Ratio // share of packets with one flipped bit
}

// Mark describes how a queue marks packets (RED with ECN, RFC 3168): none while fewer than Min packets wait, all while
// more than Max wait, and between them a share that rises to P. The zero value marks nothing; Min equal to Max is a
// step, as in DCTCP.
type Mark struct {
	Min, Max int // waiting packets
	P        unit.Ratio
}

// Model names a loss process.
type Model string

// The loss processes.
const (
	NoLoss    Model = ""        // nothing is lost
	Bernoulli Model = "random"  // each packet independently with probability P
	Gilbert   Model = "gemodel" // Gilbert-Elliott: P good to bad, R bad to good, 1-H loss in bad, 1-K loss in good
	Markov4   Model = "state"   // netem's four-state chain: P13 P31 P32 P14 P23
	Sojourn   Model = "burst"   // P enters a bad period of exactly Length packets, each lost with probability H
	Tape      Model = "tape"    // recorded decisions from File
)

// Loss is a loss process and its parameters; the Model decides which of them are used.
//
// In Gilbert, H is the probability that a packet survives the bad state and K that it survives the good state, as in
// netem's gemodel and in the papers that it follows, so a plain Gilbert channel has H=0 and K=1. In Sojourn, H is the
// probability of loss within the bad period (LoWAR Fig. 11 calls it the loss rate of the bad state).
type Loss struct {
	Model                   Model
	P, R, H, K              unit.Ratio
	P13, P31, P32, P14, P23 unit.Ratio
	Length                  int // Sojourn: packets in a bad period
	// When not zero, the process advances once per slot of channel time, not once per packet.
	Slot vtime.Duration
	File string // Tape: file of the recording
}

// Dilated returns the link as a machine must emulate it when a second of the Spec lasts k seconds on the machine: times
// are longer and rates lower. Queues and shares count packets and stay.
func (l Link) Dilated(k vtime.Dilation) Link {
	l.Rate, l.Port = l.Rate.Dilated(k), l.Port.Dilated(k)
	l.Delay, l.Jitter, l.Loss.Slot = k.Machine(l.Delay), k.Machine(l.Jitter), k.Machine(l.Loss.Slot)
	return l
}

// Duplex is a link in both directions.
type Duplex struct {
	AB, BA Link
}
