package datasheet_test

import (
	"testing"

	"github.com/rdma-gauntlet/gauntlet/perf/datasheet"
)

// TestCounters adds the values of a counter from several traces.
func TestCounters(t *testing.T) {
	f, other := &datasheet.Findings{}, &datasheet.Findings{}
	f.Count(datasheet.Counter{Name: "hw/x", Value: 3, Low: 3, High: 3, Seen: 1})
	f.Count(datasheet.Counter{Name: "hw/y", Value: 9, Low: 1, High: -1, Seen: 1})
	other.Count(datasheet.Counter{Name: "hw/x", Value: 1, Low: 2, High: 4, Seen: 1, Wrong: 1})
	other.Count(datasheet.Counter{Name: "hw/y", Value: 1, Low: 1, High: 2, Seen: 1})
	f.Add(other)
	s := datasheet.New("x", nil, f)
	for name, want := range map[string]string{"counts hw/x": "4, the wire has 5 to 7: wrong in 1 of 2",
		"counts hw/y": "10, the wire has 2 or more: as the wire"} {
		if r := s.Find(name); r == nil || r.Value != want || r.Seen != 2 {
			t.Errorf("%s: %+v, want %q", name, r, want)
		}
	}
}
