package channel

import (
	"math/bits"
	"strconv"

	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/fault"
)

// Fate tells whether and when a packet arrives.
type Fate uint8

// The fates.
const (
	Lost      Fate = iota // the packet never arrives
	Delivered             // the packet arrives at Verdict.Arrive
	Held                  // the packet arrives at the time that Release returns
)

// String names the fate.
func (f Fate) String() string {
	if int(f) < len(fates) {
		return fates[f]
	}
	return "fate " + strconv.Itoa(int(f))
}

var fates = [...]string{Lost: "lost", Delivered: "delivered", Held: "held"}

// Verdict is the decision of a channel about one packet. It has no pointers to allocate.
type Verdict struct {
	Fate    Fate
	Cause   Cause          // gravest event of the packet; zero if the packet arrives without one
	Sent    vtime.Time     // time at which the last bit leaves the port, or without a port the line; or of refusal
	Arrive  vtime.Time     // time at which the last bit arrives; Never unless Delivered
	Copies  int            // extra copies, each Gap after the one before
	Gap     vtime.Duration // interval between copies: the packet's transmission time unless a fault sets it
	Corrupt fault.Field    // field of which one bit is flipped; empty for none
	Draw    uint64         // random number that selects the bit, see Bit
	Rewrite fault.Field    // field set to Value in transit; empty for none
	Value   int            // new value of Rewrite
	Mark    bool           // ECN is set to CE
	Ticket  uint64         // number of a Held packet, which Release returns
}

// Intact reports whether the frame arrives with unchanged bytes.
func (v Verdict) Intact() bool { return v.Corrupt == "" && v.Rewrite == "" && !v.Mark }

// Bit returns the number of the bit to flip in a field of n bits, uniform in [0, n). The driver, unlike the channel,
// knows the place and the size of the field in the frame.
func (v Verdict) Bit(n int) int {
	hi, _ := bits.Mul64(v.Draw, uint64(max(n, 0)))
	return int(hi)
}

// Copy returns the arrival time of the i-th extra copy, counted from 1, of a packet that arrives at t.
func (v Verdict) Copy(t vtime.Time, i int) vtime.Time { return t.Add(vtime.Duration(i) * v.Gap) }

// note sets the cause to the random event k unless a graver cause is set.
func (v *Verdict) note(k Kind) {
	if k > v.Cause.Kind {
		v.Cause = Cause{Kind: k}
	}
}

// Kind is an event that a channel causes to a packet. Kinds are ordered by gravity; a scripted event is graver than the
// same event at random.
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

// Cause is the gravest event of a packet, with its origin.
type Cause struct {
	Kind  Kind
	Fault int // index of the fault in the fault script; meaningful if Scripted
}

// Scripted reports whether a fault of the script caused the event.
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

// ByFault returns the cause that a fault of the script is, by its action and its index; nothing for no action.
func ByFault(a fault.Action, index int) Cause {
	var k Kind
	switch a {
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
	return Cause{Kind: k, Fault: index}
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
