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

// Foreign is the treatment of frames that the Classifier does not know.
type Foreign string

// The choices.
const (
	Pass Foreign = "pass" // forwarded at once, without impairments
	Drop Foreign = "drop" // dropped
)

// Injection is a crafted frame. It bypasses the channel, and a qdisc after the relay, and consumes no draw.
type Injection struct {
	From   fault.Side     `json:"from"`            // apparent sender; the other side receives the frame
	At     vtime.Duration `json:"at_ps,omitempty"` // departure time, from the epoch of RunPhase; used if AfterN is 0
	AfterN uint64         `json:"after,omitempty"` // if not zero, sent right after the AfterN-th packet of From
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

// Config is the configuration of a relay.
type Config struct {
	Clock      *packetio.Clock // clock of the run, which the devices must use for their timestamps
	A, B       Device          // devices towards the two endpoints
	PastA      Sender          // sends to A bypassing the device's qdisc, for crafted and foreign frames; nil is A
	PastB      Sender          // the same for B
	Link       spec.Duplex
	Faults     []fault.Fault
	SeedAB     uint64 // seed of the channel from A to B
	SeedBA     uint64 // seed of the channel from B to A
	Injections []Injection
	Classifier Classifier
	Alter      Alter
	Foreign    Foreign        // empty is Drop
	Memory     int            // bytes for frames in flight; 0 is DefaultMemory
	Log        io.Writer      // fate log; nil for none
	Commands   <-chan Command // nil: the relay is in RunPhase from its start
	// Realtime asks for a real-time priority, and for waits that keep Go's processor, in a process that runs nothing
	// but the relay: see packetio.Realtime and Waiter.KeepProcessor. Without the privilege the relay runs at normal
	// priority.
	Realtime  bool
	Processor *int // with Realtime, the processor of the loop, from which other tasks were moved; nil is any
}

// DefaultMemory holds 100 ms of a 10 Gb/s link.
const DefaultMemory = 256 << 20

// MaxInjections is the maximum number of injections.
const MaxInjections = 4096

// wireOverhead is the layer-1 length of a frame minus its length here: preamble and start delimiter 8, FCS 4, gap 12.
const wireOverhead = 24

// Command is a request to a running relay.
type Command struct {
	Op    Op          `json:"op"`
	Phase Phase       `json:"phase,omitempty"`    // phase to begin; SetPhase only
	Epoch vtime.Time  `json:"epoch_ps,omitempty"` // zero of Injection.At in the phase; SetPhase only
	Reply func(Stats) `json:"-"`                  // receives the Stats of the phase before the command; may be nil
}

// Op is the operation of a Command.
type Op string

// The operations.
const (
	SetPhase Op = "phase" // begin a phase with fresh channels; frames in flight still arrive
	GetStats Op = "stats" // return the Stats of the phase so far
)

// validate checks a command.
func (c Command) validate() error {
	switch {
	case c.Op == GetStats, c.Op == SetPhase && (c.Phase == ProbePhase || c.Phase == RunPhase):
		return nil
	}
	return fmt.Errorf("relay: command %q %q; want stats, phase probe or phase run", c.Op, c.Phase)
}

// validate sets the defaults and checks the fields, without access to the machine.
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

// memory returns the maximum number of bytes for frames in flight.
func (c *Config) memory() int { return cmp.Or(c.Memory, DefaultMemory) }

// channels returns fresh channels of the two directions for a phase.
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

// unimpaired returns the part of a link that is active in ProbePhase. Only its jitter draws random numbers; they are
// indexed by packet and start again with the next phase.
func unimpaired(l spec.Link) spec.Link {
	return spec.Link{Rate: l.Rate, Delay: l.Delay, Jitter: l.Jitter, Queue: l.Queue}
}
