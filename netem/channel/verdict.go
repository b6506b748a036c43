package channel

import (
	"math/bits"
	"strconv"

	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/fault"
)

// Fate says whether a packet arrives.
type Fate uint8

// The fates.
const (
	Lost      Fate = iota // it never arrives
	Delivered             // it arrives at Arrive
	Held                  // it arrives when Release says so
)

// String names the fate.
func (f Fate) String() string {
	if int(f) < len(fates) {
		return fates[f]
	}
	return "fate " + strconv.Itoa(int(f))
}

var fates = [...]string{Lost: "lost", Delivered: "delivered", Held: "held"}

// Verdict is what becomes of one packet: a flat value, so that judging a packet allocates nothing.
type Verdict struct {
	Fate    Fate
	Cause   Cause          // the gravest thing that happened to it; zero when it just arrived
	Sent    vtime.Time     // its last bit leaves the line; for a packet that the queue refused, when it was refused
	Arrive  vtime.Time     // its last bit arrives; Never unless Delivered
	Copies  int            // extra copies, each Gap after the one before
	Gap     vtime.Duration // distance of the copies: the packet's own time on the line unless a fault says otherwise
	Corrupt fault.Field    // flip one bit of this field; empty is none
	Draw    uint64         // which bit: see Bit
	Rewrite fault.Field    // set this field to Value in transit; empty is none
	Value   int
	Mark    bool   // set ECN to CE
	Ticket  uint64 // Held: the number by which Release names the packet
}

// Intact reports whether the frame arrives as it was sent, apart from timing and copies.
func (v Verdict) Intact() bool { return v.Corrupt == "" && v.Rewrite == "" && !v.Mark }

// Bit picks the bit to flip out of n: uniform from 0 to n-1. The channel does not know where a field lies in a frame;
// the driver does.
func (v Verdict) Bit(n int) int {
	hi, _ := bits.Mul64(v.Draw, uint64(max(n, 0)))
	return int(hi)
}

// Copy returns when the i-th extra copy arrives, counted from 1, if the packet itself arrives at t.
func (v Verdict) Copy(t vtime.Time, i int) vtime.Time { return t.Add(vtime.Duration(i) * v.Gap) }

// note names a random cause unless a graver one is known.
func (v *Verdict) note(k Kind) {
	if k > v.Cause.Kind {
		v.Cause = Cause{Kind: k}
	}
}

// Kind is one thing that a channel does to a packet. Kinds are ordered by gravity, and a fault is graver than the same
// thing at random.
type Kind uint8

// The kinds.
const (
	None Kind = iota
	DelayedByFault
	ReorderedAtRandom
	ReorderedByFault
	DuplicatedAtRandom
	DuplicatedByFault
	MarkedByQueue
	MarkedByFault
	RewrittenByFault
	CorruptedAtRandom
	CorruptedByFault
	Queue // refused by a full queue
	Loss  // lost by the loss process
	DroppedByFault
	kinds
)

var words = [kinds]string{
	DelayedByFault: "delay", ReorderedAtRandom: "reorder", ReorderedByFault: "reorder",
	DuplicatedAtRandom: "duplicate", DuplicatedByFault: "dup", MarkedByQueue: "ecn", MarkedByFault: "mark",
	RewrittenByFault:  "rewrite",
	CorruptedAtRandom: "corrupt", CorruptedByFault: "corrupt", Queue: "queue", Loss: "loss", DroppedByFault: "drop",
}

// Cause names what a channel did to a packet.
type Cause struct {
	Kind  Kind
	Fault int // index in the fault script when a fault did it
}

// Scripted reports whether a fault did it.
func (c Cause) Scripted() bool {
	switch c.Kind {
	case DelayedByFault, ReorderedByFault, DuplicatedByFault, MarkedByFault, RewrittenByFault,
		CorruptedByFault, DroppedByFault:
		return true
	}
	return false
}

// String prints the cause as traces spell it: "loss", "queue", "corrupt", "drop[0]"; empty when nothing happened.
func (c Cause) String() string {
	if c.Kind >= kinds {
		return "cause " + strconv.Itoa(int(c.Kind))
	}
	if c.Scripted() {
		return words[c.Kind] + "[" + strconv.Itoa(c.Fault) + "]"
	}
	return words[c.Kind]
}

// byFault turns the gravest fault of a decision into a cause.
func byFault(d fault.Decision) Cause {
	var k Kind
	switch d.Action {
	case fault.Drop:
		k = DroppedByFault
	case fault.Duplicate:
		k = DuplicatedByFault
	case fault.Delay:
		k = DelayedByFault
	case fault.Reorder:
		k = ReorderedByFault
	case fault.Corrupt:
		k = CorruptedByFault
	case fault.Rewrite:
		k = RewrittenByFault
	case fault.Mark:
		k = MarkedByFault
	}
	return Cause{Kind: k, Fault: d.Fault}
}

// Counters are the sums of a channel's verdicts.
type Counters struct {
	Offered   uint64
	Delivered uint64 // Held ones included; copies are not
	Lost      uint64 // by the loss process
	Overflow  uint64 // refused by the queue
	Dropped   uint64 // by faults
	Copies    uint64 // extra copies
	Marked    uint64 // by the queue
	Corrupted uint64 // delivered with a flipped bit
	Reordered uint64 // by random or scripted reordering; overtaking by jitter is not counted
	QueueMax  int    // most packets that waited at one time
	Early     uint64 // packets that a reorder fault could not hold until their successors had passed
}

func (n *Counters) add(v *Verdict) {
	switch {
	case v.Fate != Lost:
		n.Delivered++
	case v.Cause.Kind == Loss:
		n.Lost++
	case v.Cause.Kind == Queue:
		n.Overflow++
	default:
		n.Dropped++
	}
	n.Copies += uint64(v.Copies)
	if v.Corrupt != "" {
		n.Corrupted++
	}
}
