package tc

import "math"

// GE is struct tc_netem_gemodel: the Gilbert-Elliott chain as the kernel takes it. The command line takes "gemodel p r
// 1-h 1-k"; H is the complement of its third argument, K1 is its fourth as given.
type GE struct {
	P  Probability // from good to bad
	R  Probability // from bad to good
	H  Probability // of surviving in the bad state
	K1 Probability // of loss in the good state
}

// GI is struct tc_netem_gimodel: the four-state chain. The order is the kernel's; the command line takes
// "state p13 p31 p32 p23 p14".
type GI struct{ P13, P31, P32, P14, P23 Probability }

// Probability is a share of 2^32-1.
type Probability uint32

// certain is probability one.
const certain Probability = math.MaxUint32

// probability rounds to the nearest step, ties to even, as iproute2 does. The error is at most 2^-33.
func probability(x float64) Probability {
	return Probability(math.RoundToEven(min(max(x, 0), 1) * float64(certain)))
}

// Ratio returns the share as a number between 0 and 1.
func (p Probability) Ratio() float64 { return float64(p) / float64(certain) }

// Netem is the configuration of a netem qdisc in the kernel's units. At most one of Loss, GE and GI is used.
type Netem struct {
	Latency   int64       // ns
	Jitter    int64       // ns, uniform around Latency
	Limit     uint32      // packets inside the qdisc, delayed ones included
	Loss      Probability // independent losses
	GE        *GE
	GI        *GI
	Gap       uint32 // 1 when Reorder is set, which makes every packet a candidate
	Reorder   Probability
	Duplicate Probability
	Corrupt   Probability
	Rate      uint64 // bytes per second, 0 is unlimited
	Overhead  int32  // bytes added to each packet for its time on the line
	ECN       bool   // mark packets instead of losing them, where they allow it
	Seed      *uint64
}
