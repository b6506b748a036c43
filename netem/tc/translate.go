package tc

import (
	"errors"
	"fmt"
	"math"

	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/spec"
)

// ErrUnsupported is the error for features that netem, or that of the running kernel, lacks. Callers use the relay
// instead.
var ErrUnsupported = errors.New("not supported by tc-netem; use the relay")

// WireOverhead is the difference between a frame's length at layer 1 and its length as the kernel counts it: preamble
// and start delimiter 8, FCS 4, inter-frame gap 12 bytes (IEEE 802.3).
const WireOverhead = 24

// fastest bounds the packets per second of a link without a rate, for which a limit has to be computed: two CPUs
// forward less than half of it.
const fastest = 2_000_000

// Options are the settings that netem needs in addition to a spec.Link.
type Options struct {
	Packet int     // bytes of a full packet on the wire (layer 1); converts the delay to packets of the limit
	Seed   *uint64 // seed of netem's PRNG; nil leaves it to the kernel, and a kernel without seeds gives ErrUnsupported
}

// Translate returns the netem configuration of a link. For a feature that netem lacks the error names it and wraps
// ErrUnsupported.
func Translate(l spec.Link, o Options) (Netem, error) {
	if err := l.Validate(); err != nil {
		return Netem{}, fmt.Errorf("tc: %w", err)
	}
	if l.Mark != (spec.Mark{}) {
		return Netem{}, fmt.Errorf("tc: marks by the queue (ecn-min): %w", ErrUnsupported)
	}
	n := Netem{
		Latency:   nanoseconds(l.Delay),
		Jitter:    nanoseconds(l.Jitter),
		Duplicate: probability(float64(l.Duplicate)),
		Corrupt:   probability(float64(l.Corrupt)),
		Reorder:   probability(float64(l.Reorder)),
		Seed:      o.Seed,
	}
	if n.Reorder != 0 {
		n.Gap = 1 // 0 would disable reordering, whatever its probability
	}
	if l.Reorder > 0 && n.Latency == 0 {
		return Netem{}, fmt.Errorf("tc: reorder without delay: %w, or set a delay", ErrUnsupported)
	}
	if n.Jitter >= math.MaxInt32 {
		return Netem{}, fmt.Errorf("tc: jitter %s, netem takes less than 2^31 ns: %w", l.Jitter, ErrUnsupported)
	}
	if l.Rate > 0 {
		// Netem counts a frame from its Ethernet header on, without FCS; the rate of a Spec is that of layer 1.
		n.Rate, n.Overhead = uint64((l.Rate+4)/8), WireOverhead
		if n.Rate == 0 {
			return Netem{}, fmt.Errorf("tc: rate %s is less than a byte per second: %w", l.Rate, ErrUnsupported)
		}
	}
	if err := n.setLoss(l.Loss); err != nil {
		return Netem{}, err
	}
	limit, err := Limit(l, o.Packet)
	n.Limit = limit
	return n, err
}

// nanoseconds rounds to the kernel's unit.
func nanoseconds(d vtime.Duration) int64 {
	return int64((d + vtime.Nanosecond/2) / vtime.Nanosecond)
}

// setLoss translates the loss process. K1 and H are complemented as by iproute2, so that the bytes are the same as
// those of `tc … gemodel p r 1-h 1-k`.
func (n *Netem) setLoss(l spec.Loss) error {
	if l.Slot != 0 {
		return fmt.Errorf("tc: loss %s with slots of channel time: %w", l.Model, ErrUnsupported)
	}
	p := func(x float64) Probability { return probability(x) }
	switch l.Model {
	case spec.NoLoss:
	case spec.Bernoulli:
		n.Loss = p(float64(l.P))
	case spec.Gilbert:
		n.GE = &GE{P: p(float64(l.P)), R: p(float64(l.R)), H: certain - p(1-float64(l.H)), K1: p(1 - float64(l.K))}
	case spec.Markov4:
		n.GI = &GI{P13: p(float64(l.P13)), P31: p(float64(l.P31)), P32: p(float64(l.P32)), P14: p(float64(l.P14)),
			P23: p(float64(l.P23))}
	case spec.Sojourn:
		return fmt.Errorf("tc: loss burst with a fixed sojourn of %d packets: %w", l.Length, ErrUnsupported)
	case spec.Tape:
		return fmt.Errorf("tc: loss tape %s: %w", l.File, ErrUnsupported)
	default:
		return fmt.Errorf("tc: loss %s: %w", l.Model, ErrUnsupported)
	}
	return nil
}

// Limit returns netem's limit for a link: the packets that may wait for the line, the one on it, and the full packets
// within their delay. The queue has the length of the Spec for packets of this size; it is shorter for smaller ones.
func Limit(l spec.Link, packet int) (uint32, error) {
	if packet < 1 {
		return 0, fmt.Errorf(
			"tc: packet of %d bytes; set Options.Packet to the bytes of a full packet on the wire", packet)
	}
	hold := l.Delay + l.Jitter
	flying := float64(hold.Seconds() * fastest)
	if l.Rate > 0 {
		flying = float64(l.BDPPackets(hold, packet))
	}
	limit := float64(l.Queue) + math.Ceil(flying) + 1
	if limit > math.MaxUint32 {
		return 0, fmt.Errorf("tc: a limit of %.3g packets: %w", limit, ErrUnsupported)
	}
	return uint32(limit), nil
}
