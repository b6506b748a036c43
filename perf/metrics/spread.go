package metrics

import (
	"math"
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// exactLimit is the number of durations that are stored. Beyond it, percentiles come from a histogram with an error of
// at most 0.1 %; count, mean, least and greatest stay exact.
const exactLimit = 10_000

// sample is a set of durations.
type sample struct {
	values   []int64 // nanoseconds; nil once the histogram has them
	hist     *hdrhistogram.Histogram
	count    int64
	sum      float64
	min, max int64
}

// add adds a duration; a negative one, which only a foreign clock gives, counts as zero.
func (s *sample) add(d vtime.Duration) {
	ns := max(0, nanoseconds(d))
	if s.count == 0 {
		s.min, s.max = ns, ns
	}
	s.min, s.max = min(s.min, ns), max(s.max, ns)
	s.count++
	s.sum += float64(ns)
	switch {
	case s.hist != nil:
		s.record(ns)
	case len(s.values) < exactLimit:
		s.values = append(s.values, ns)
	default:
		s.condense()
		s.record(ns)
	}
}

// condense moves the values into a histogram that reaches as far as vtime does.
func (s *sample) condense() {
	s.hist = hdrhistogram.New(1, math.MaxInt64/int64(vtime.Nanosecond)+1, 3)
	for _, ns := range s.values {
		s.record(ns)
	}
	s.values = nil
}

// record cannot fail: every vtime.Duration is in the histogram's range.
func (s *sample) record(ns int64) { _ = s.hist.RecordValue(ns) }

// spread describes the set.
func (s *sample) spread() Spread {
	if s.count == 0 {
		return Spread{}
	}
	slices.Sort(s.values)
	return Spread{Count: s.count, Mean: int64(math.Round(s.sum / float64(s.count))), Min: s.min, Max: s.max,
		P50: s.quantile(50), P95: s.quantile(95), P99: s.quantile(99)}
}

// quantile is the smallest value that percent of the set do not exceed (nearest rank); the values are sorted.
func (s *sample) quantile(percent int) int64 {
	if s.hist != nil {
		return min(s.max, max(s.min, s.hist.ValueAtQuantile(float64(percent))))
	}
	rank := (len(s.values)*percent + 99) / 100
	return s.values[max(rank, 1)-1]
}
