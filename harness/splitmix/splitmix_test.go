package splitmix

import (
	"math"
	"testing"
)

// The first outputs for seed 1234567, the usual test vector of SplitMix64.
func TestKnownOutputs(t *testing.T) {
	for n, want := range []uint64{6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431,
		16408922859458223821} {
		if got := Stream(1234567).At(uint64(n)); got != want {
			t.Errorf("number %d is %d, want %d", n, got, want)
		}
	}
}

// Neighbouring streams and positions are independent: means of uniform numbers are 1/2 within six standard deviations.
func TestUniform(t *testing.T) {
	const count = 100_000
	for seed := range uint64(4) {
		sum, hits := 0.0, 0
		for n := range uint64(count) {
			u := Stream(seed).Sub(3).Uniform(n)
			if u < 0 || u >= 1 {
				t.Fatalf("%v is outside [0, 1)", u)
			}
			sum += u
			if Stream(seed).Below(n, 0.25) {
				hits++
			}
		}
		if mean := sum / count; math.Abs(mean-0.5) > 6*0.2887/math.Sqrt(count) {
			t.Errorf("seed %d: mean %v", seed, mean)
		}
		if share := float64(hits) / count; math.Abs(share-0.25) > 6*math.Sqrt(0.25*0.75/count) {
			t.Errorf("seed %d: %v of the numbers are below a quarter", seed, share)
		}
	}
	if Stream(1).Below(0, 0) || !Stream(1).Below(0, 1) {
		t.Error("0 is not impossible, or 1 not certain")
	}
}
