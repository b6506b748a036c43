package relay

import (
	"cmp"
	"errors"
	"fmt"
	"io"

	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/channel"
	"github.com/rdma-gauntlet/gauntlet/netem/fault"
	"github.com/rdma-gauntlet/gauntlet/netem/packetio"
	"github.com/rdma-gauntlet/gauntlet/netem/spec"
)

// Foreign says what happens to frames that the Classifier does not know.
type Foreign string

// The choices.
const (
	Pass Foreign = "pass" // they cross at once, unimpaired
	Drop Foreign = "drop"
)

// Injection is a crafted frame. It meets no impairment, of a qdisc behind the relay as little, and consumes no draw.
type Injection struct {
	From   fault.Side     `json:"from"`            // the endpoint that seems to have sent it; the other one receives it
	At     vtime.Duration `json:"at_ps,omitempty"` // when it is sent to the receiver, from the epoch of RunPhase
	AfterN uint64         `json:"after,omitempty"` // or, when not zero, right behind the n-th packet of that side
	Frame  []byte         `json:"frame"`           // from the Ethernet header, without FCS
	Name   string         `json:"name,omitempty"`  // cause in the fate log; empty is "inject"
}

// Device is one end of the relay: a packetio.Port in the network namespace of the link.
type Device interface {
	Sender
	Receive() ([]packetio.Packet, error)
	Counts() (packetio.Counts, error)
	Fd() int
}

// Config is what a relay needs.
type Config struct {
	Clock      *packetio.Clock // of the run; the devices must stamp with the same
	A, B       Device          // towards the two endpoints
	PastA      Sender          // the same past the device's qdisc, for frames that nothing must happen to; nil is A
	PastB      Sender
	Link       spec.Duplex
	Faults     []fault.Fault
	SeedAB     uint64 // of the channel from A to B
	SeedBA     uint64
	Injections []Injection
	Classifier Classifier
	Alter      Alter
	Foreign    Foreign   // empty is Drop
	Memory     int       // bytes for frames in flight; 0 is DefaultMemory
	Log        io.Writer // the fate log; nil is none
	Commands   <-chan Command
	// the process is the relay's own: see packetio.Realtime and Waiter.KeepProcessor; no priority is no error
	Realtime  bool
	Processor *int // with Realtime, the one that the loop keeps to, which others were moved off; nil is any
}

// DefaultMemory holds 100 ms of a 10 Gb/s link.
const DefaultMemory = 256 << 20

// MaxInjections bounds a script.
const MaxInjections = 4096

// wireOverhead is what a frame lacks of its length at layer 1: preamble and start delimiter 8, FCS 4, gap 12.
const wireOverhead = 24

// Command is an order to a running relay.
type Command struct {
	Op    Op          `json:"op"`
	Phase Phase       `json:"phase,omitempty"`
	Epoch vtime.Time  `json:"epoch_ps,omitempty"` // of the phase: injections count from it
	Reply func(Stats) `json:"-"`                  // receives the Stats of the phase that ends, or of now; may be nil
}

// Op is what a Command asks for.
type Op string

// The orders.
const (
	SetPhase Op = "phase" // begin a phase with fresh channels; what is in flight still arrives
	GetStats Op = "stats"
)

// validate checks an order.
func (c Command) validate() error {
	switch {
	case c.Op == GetStats, c.Op == SetPhase && (c.Phase == ProbePhase || c.Phase == RunPhase):
		return nil
	}
	return fmt.Errorf("relay: command %q %q; want stats, phase probe or phase run", c.Op, c.Phase)
}

// validate checks what does not depend on the machine.
func (c *Config) validate() error {
	if c.Foreign == "" {
		c.Foreign = Drop
	}
	c.Memory = c.memory()
	switch {
	case c.Clock == nil || c.A == nil || c.B == nil || c.Classifier == nil || c.Alter == nil:
		return errors.New("relay: Clock, A, B, Classifier and Alter must all be set")
	case c.Foreign != Pass && c.Foreign != Drop:
		return fmt.Errorf("relay: foreign frames %q; want pass or drop", c.Foreign)
	case c.Memory < 1<<20:
		return fmt.Errorf("relay: memory of %d bytes; want 1 MiB at least", c.Memory)
	case len(c.Injections) > MaxInjections:
		return fmt.Errorf("relay: %d injections; want at most %d", len(c.Injections), MaxInjections)
	}
	for i, in := range c.Injections {
		if in.From != fault.A && in.From != fault.B || len(in.Frame) < 14 || len(in.Frame) > maxFrame {
			return fmt.Errorf("relay: injection %d: want from A or B, and a frame of 14 to %d bytes", i, maxFrame)
		}
	}
	return nil
}

// memory returns the bound on frames in flight.
func (c *Config) memory() int { return cmp.Or(c.Memory, DefaultMemory) }

// channels returns the two directions as a phase begins.
func (c *Config) channels(p Phase) (ab, ba *channel.Channel, err error) {
	link, faults := c.Link, c.Faults
	link.AB.Port, link.BA.Port = 0, 0 // the endpoints' ports are real
	if p == ProbePhase {
		link, faults = spec.Duplex{AB: unimpaired(link.AB), BA: unimpaired(link.BA)}, nil
	}
	set, err := fault.NewSet(faults)
	if err != nil {
		return nil, nil, err
	}
	if ab, err = channel.New(link.AB, set, c.SeedAB); err != nil {
		return nil, nil, err
	}
	ba, err = channel.New(link.BA, set, c.SeedBA)
	return ab, ba, err
}

// unimpaired is what stays of a link while it is probed: nothing in it draws a random number except jitter, whose draws
// are numbered by packet and start again with the next phase.
func unimpaired(l spec.Link) spec.Link {
	return spec.Link{Rate: l.Rate, Delay: l.Delay, Jitter: l.Jitter, Queue: l.Queue}
}
