// Package loss implements the loss processes of a channel: independent losses, bursts of several distributions, and
// recorded tapes.
//
// The output of a process depends only on its parameters, its seed and the calls, and is the same on every machine,
// since draws are integers compared with integers. The closed forms of the rates and burst lengths are in package spec.
package loss

import (
	"fmt"
	"math/rand/v2"

	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/spec"
	"github.com/rdma-gauntlet/gauntlet/netem/tape"
)

// Process decides packet by packet which packets are lost. It is not safe for concurrent use.
type Process interface {
	// Lose reports whether the packet that enters the channel at now is lost. Times never decrease from call to call.
	Lose(now vtime.Time) bool
}

// New returns the process that l describes. A tape is read from its file. A tape keyed by identity is an error, because
// it cannot be played without the identity of the packets; see package channel.
func New(l spec.Loss, seed uint64) (Process, error) {
	if err := l.Validate(); err != nil {
		return nil, err
	}
	if l.Model == spec.Tape {
		return play(l.File)
	}
	c, err := newChain(l)
	if err != nil {
		return nil, err
	}
	if l.Slot > 0 {
		return &slotted{chain: c, slot: l.Slot, seed: seed, at: -1}, nil
	}
	c.restart(seed)
	return c, nil
}

func play(file string) (Process, error) {
	t, err := tape.Open(file)
	if err != nil {
		return nil, err
	}
	if t.Key == tape.ByIdentity {
		return nil, fmt.Errorf(
			"loss: %s is keyed by identity; play it through a channel, which knows the packets", file)
	}
	return t.Player(), nil
}

// chain is a process that takes one step per packet or slot.
type chain interface {
	Process
	restart(seed uint64) // returns to the good state and to the first draw of the seed
}

func newChain(l spec.Loss) (chain, error) {
	switch l.Model {
	case spec.NoLoss:
		return none{}, nil
	case spec.Bernoulli:
		return &bernoulli{p: odds(l.P)}, nil
	case spec.Gilbert:
		return &gilbert{p: odds(l.P), r: odds(l.R), inGood: odds(1 - l.K), inBad: odds(1 - l.H)}, nil
	case spec.Markov4:
		return &markov4{p13: odds(l.P13), p31: odds(l.P31), p32: odds(l.P32), p14: odds(l.P14), p23: odds(l.P23)}, nil
	case spec.Sojourn:
		return &sojourn{p: odds(l.P), h: odds(l.H), length: l.Length}, nil
	}
	return nil, fmt.Errorf("loss: no process for model %q", l.Model)
}

// chance is a probability times 2^63, as a threshold for 63-bit draws. Rounding a probability of the text form to it
// costs less than 2^-63, and certainty, 2^63, needs no special case.
type chance uint64

func odds(p unit.Ratio) chance { return chance(float64(p) * (1 << 63)) }

// golden is 2^64 divided by the golden ratio: a constant with an irregular bit pattern.
const golden = 0x9E3779B97F4A7C15

// source is the random generator of a chain. The generator must stay PCG, because another one would change every run of
// every seed.
type source struct{ pcg rand.PCG }

// restart begins the stream of a seed. PCG uses its seed as its state, so that neighbouring seeds would begin with
// almost the same state. The state is therefore two outputs of a PCG with that seed, which differ widely.
func (s *source) restart(seed uint64) {
	s.pcg.Seed(seed, golden)
	a, b := s.pcg.Uint64(), s.pcg.Uint64()
	s.pcg.Seed(a, b)
}

// draw returns 63 random bits.
func (s *source) draw() chance { return chance(s.pcg.Uint64() >> 1) }

// hit takes one draw: true with probability c.
func (s *source) hit(c chance) bool { return s.draw() < c }
