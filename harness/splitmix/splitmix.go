// Package splitmix provides random numbers that are read by position: SplitMix64 (Steele, Lea, Flood, "Fast Splittable
// Pseudorandom Number Generators", OOPSLA 2014), whose n-th output needs no earlier one.
//
// Code that draws by a number, such as a packet's, can draw more or fewer values of another kind without a shift of
// these.
// these.
package splitmix

// Stream is an endless row of random numbers; the value is its seed.
type Stream uint64

// gamma is the generator's increment: the odd integer closest to 2^64 divided by the golden ratio.
const gamma = 0x9E3779B97F4A7C15

// At returns the n-th number, counted from 0.
func (s Stream) At(n uint64) uint64 {
	z := uint64(s) + (n+1)*gamma
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

// Sub returns the i-th of the streams that derive from this one.
func (s Stream) Sub(i uint64) Stream { return Stream(s.At(i)) }

// Uniform returns the n-th number as one from 0 up to and without 1.
func (s Stream) Uniform(n uint64) float64 { return float64(s.At(n)>>11) / (1 << 53) }

// Below decides for the n-th number, true with probability p; 1 is certain.
func (s Stream) Below(n uint64, p float64) bool { return float64(s.At(n)>>1) < p*(1<<63) }
