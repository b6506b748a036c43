package datasheet

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// sample is a set of values: nanoseconds, or counts.
type sample struct {
	values []int64
	seen   int
}

// sampleLimit bounds the values that are stored. A device shows its behaviour in far fewer.
const sampleLimit = 10_000

func (s *sample) add(v int64) {
	s.seen++
	if len(s.values) < sampleLimit {
		s.values = append(s.values, v)
	}
}

// addTime adds a duration; a negative one, which results from clocks that disagree, counts as zero.
func (s *sample) addTime(d vtime.Duration) { s.add(int64(max(0, d) / vtime.Nanosecond)) }

// merge adds the values of another sample.
func (s *sample) merge(o *sample) {
	s.seen += o.seen
	s.values = append(s.values, o.values[:min(len(o.values), sampleLimit-len(s.values))]...)
}

// spread returns the least, the middle and the greatest value.
func (s *sample) spread() (least, median, greatest int64) {
	if len(s.values) == 0 {
		return 0, 0, 0
	}
	v := slices.Clone(s.values)
	slices.Sort(v)
	return v[0], v[(len(v)-1)/2], v[len(v)-1]
}
