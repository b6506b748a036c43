package vtime

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"strconv"
)

// Dilation is how many seconds of the machine a second of a Spec lasts on a bench with real packets: a power of two
// from 1 to MaxDilation (Gupta et al., To Infinity and Beyond: Time-Warped Network Emulation, NSDI 2006). A machine
// that is too slow for a link by some factor then has the time that it needs. Zero is 1.
type Dilation int

// MaxDilation bounds it: at 1024 a round trip of 40 ms takes 41 s.
const MaxDilation Dilation = 1024

// ParseDilation reads a factor.
func ParseDilation(s string) (Dilation, error) {
	n, err := strconv.Atoi(s)
	if k := Dilation(n); err == nil && n > 0 && k.Valid() {
		return k, nil
	}
	return 0, fmt.Errorf("dilation %q: want a power of two from 1 to %d", s, MaxDilation)
}

// Valid reports whether k is a power of two in its range, or zero.
func (k Dilation) Valid() bool { return k >= 0 && k <= MaxDilation && k&(k-1) == 0 }

// Factor is k as a number, at least 1.
func (k Dilation) Factor() int { return int(cmp.Or(k, 1)) }

// Dilated reports whether the Spec's time is not the machine's.
func (k Dilation) Dilated() bool { return k > 1 }

// Doublings is the logarithm of k to the base of two.
func (k Dilation) Doublings() int { return bits.Len(uint(k.Factor())) - 1 }

// Spec returns how much of the Spec's time passes in d of the machine's, rounded down.
func (k Dilation) Spec(d Duration) Duration { return d >> k.Doublings() }

// Machine returns how long d of the Spec's time lasts on the machine. It saturates, so that a wait without end stays
// one.
func (k Dilation) Machine(d Duration) Duration {
	n := k.Doublings()
	switch {
	case d > math.MaxInt64>>n:
		return math.MaxInt64
	case d < math.MinInt64>>n:
		return math.MinInt64
	}
	return d << n
}

// Doubled is twice k, MaxDilation at most.
func (k Dilation) Doubled() Dilation { return min(2*Dilation(k.Factor()), MaxDilation) }

// String prints the factor.
func (k Dilation) String() string { return strconv.Itoa(k.Factor()) }
