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
	"github.com/rdma-gauntlet/gauntlet/netem/tape"
)

// Process decides the fate of one packet after the other. It is not safe for concurrent use.
type Process interface {
	// Lose reports whether the packet that enters the channel at now is lost. Times never decrease from call to call.
	Lose(now vtime.Time) bool
}

// New returns the process that l describes. A tape is read from its file; one that is keyed by identity cannot be
// played packet by packet and is an error here, see package channel.
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
		return nil, fmt.Errorf("loss: %s is keyed by identity; play it through a channel, which knows the packets",
			file)
	}
	return t.Player(), nil
}

// chain is a process that moves by steps, one per packet or slot.
type chain interface {
	Process
	restart(seed uint64) // back to the first packet, in the good state
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

// chance is a probability as a threshold for 63-bit draws. Any float that the text form can hold maps to it within
// 2^-63, and certainty, 2^63, needs no special case.
type chance uint64

func odds(p unit.Ratio) chance { return chance(float64(p) * (1 << 63)) }

// golden is 2^64 divided by the golden ratio: a fixed word without a pattern.
const golden = 0x9E3779B97F4A7C15

// source is the random side of a chain. PCG is part of the meaning of a seed: changing it changes every recorded run.
type source struct{ pcg rand.PCG }

// restart begins the stream of a seed. PCG takes its seed as its state, so that neighbouring seeds would begin with
// almost the same state; two outputs of a first generator are far apart.
func (s *source) restart(seed uint64) {
	s.pcg.Seed(seed, golden)
	a, b := s.pcg.Uint64(), s.pcg.Uint64()
	s.pcg.Seed(a, b)
}

// draw returns 63 random bits.
func (s *source) draw() chance { return chance(s.pcg.Uint64() >> 1) }

// hit takes one draw: true with probability c.
func (s *source) hit(c chance) bool { return s.draw() < c }
