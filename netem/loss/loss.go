// Package loss decides which packets a channel loses: independently, in bursts of several laws, or from a tape.
//
// Every process is a function of its parameters and its seed alone, bit for bit the same on every machine: draws are
// integers compared with integers. The closed forms of the rates and burst lengths are in package spec.
package loss

import (
	"fmt"
	"math/rand/v2"

	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/spec"
)

// Process decides the fate of one packet after the other. It is not safe for concurrent use.
type Process interface {
	// Lose reports whether the packet that enters the channel at now is lost. Times never decrease from call to call.
	Lose(now vtime.Time) bool
}

// New returns the process that l describes.
func New(l spec.Loss, seed uint64) (Process, error) {
	switch l.Model {
	case spec.NoLoss:
		return never{}, nil
	case spec.Bernoulli:
		return &bernoulli{p: odds(l.P), draw: source(seed)}, nil
	}
	return nil, fmt.Errorf("loss: model %q is unknown", l.Model)
}

type never struct{}

func (never) Lose(vtime.Time) bool { return false }

// chance is a probability as a threshold for 63-bit draws. A float of 53 bits maps to it exactly, and certainty (2^63)
// needs no special case.
type chance uint64

func odds(p unit.Ratio) chance { return chance(float64(p) * (1 << 63)) }

// hit takes one draw: true with probability c.
func (c chance) hit(draw *rand.PCG) bool { return draw.Uint64()>>1 < uint64(c) }

// source returns the stream of a seed. The second word only has to be fixed; this one is the golden ratio.
func source(seed uint64) *rand.PCG { return rand.NewPCG(seed, 0x9E3779B97F4A7C15) }

type bernoulli struct {
	p    chance
	draw *rand.PCG
}

func (b *bernoulli) Lose(vtime.Time) bool { return b.p.hit(b.draw) }
