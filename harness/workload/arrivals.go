package workload

import (
	"math"

	"github.com/rdma-gauntlet/gauntlet/harness/splitmix"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Flows is the flows of one source: each has a size and a gap to the one before. Any of them can be asked for at any
// time; the same seed gives the same flows.
type Flows struct {
	sizes, gaps splitmix.Stream
	cdf         CDF
	fixed       unit.Size
	mean        vtime.Duration
	poisson     bool
}

// Sized returns flows of sizes that follow a CDF, or of a fixed size when there is none, without gaps: a closed loop.
func Sized(c CDF, fixed unit.Size, seed splitmix.Stream) Flows {
	return Flows{sizes: seed.Sub(0), gaps: seed.Sub(1), cdf: c, fixed: fixed}
}

// Every returns the same flows with one gap between any two. The first arrives at time zero, at all sources with the
// same flows: an incast.
func (f Flows) Every(gap vtime.Duration) Flows {
	f.mean, f.poisson = gap, false
	return f
}

// Poisson returns the same flows with exponential gaps, independent of each other, of a mean. Many such sources
// together are one Poisson source with the sum of their rates.
func (f Flows) Poisson(mean vtime.Duration) Flows {
	f.mean, f.poisson = mean, true
	return f
}

// Open reports whether flows arrive by the clock, independently of the progress of earlier ones.
func (f *Flows) Open() bool { return f.mean > 0 }

// Size returns how large the n-th flow is, in bytes.
func (f *Flows) Size(n int) unit.Size {
	if len(f.cdf) == 0 {
		return f.fixed
	}
	return f.cdf.At(f.sizes.Uniform(uint64(n)))
}

// Varied reports whether flows differ in size.
func (f *Flows) Varied() bool { return len(f.cdf) > 0 }

// Gap returns the time from the arrival of the flow before to that of the n-th; of the first, from the start of the
// run.
func (f *Flows) Gap(n int) vtime.Duration {
	switch {
	case f.poisson:
		return vtime.Duration(-math.Log1p(-f.gaps.Uniform(uint64(n))) * float64(f.mean))
	case n == 0:
		return 0
	}
	return f.mean
}

// MeanGap returns the gap at which flows of a mean size, in bytes, offer a share of a rate. The payload counts, not the
// headers, as in the studies that state loads.
func MeanGap(size float64, share unit.Ratio, rate unit.Rate) vtime.Duration {
	return vtime.Duration(size * 8 / (float64(share) * float64(rate)) * float64(vtime.Second))
}
