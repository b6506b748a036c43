package evidence

import (
	"slices"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
)

// A READ that is sent again asks for all data from its PSN on, whether they have passed or not: the capture lacks data
// that have not passed only where the requester goes on behind them.
func TestReadsSentAgain(t *testing.T) {
	for _, c := range []struct {
		name string
		data []psn.PSN // data that have passed, of READs of [0, 4) and [4, 8)
		from []psn.PSN // the READs sent again start there, and end as they did
		want []psn.PSN // the first of the data that the capture lacks
	}{
		{"from the first that is missing", []psn.PSN{0, 2, 4}, []psn.PSN{1}, nil},
		{"of each READ", []psn.PSN{0, 2, 3, 4, 6, 7}, []psn.PSN{1, 4}, nil},
		{"from its beginning", []psn.PSN{0, 1, 3}, []psn.PSN{0}, nil},
		{"from behind what has not passed", []psn.PSN{0, 2}, []psn.PSN{3}, []psn.PSN{1}},
		{"the later READ alone", []psn.PSN{0, 1, 3, 4, 6}, []psn.PSN{4}, []psn.PSN{2}},
	} {
		var f fetched
		end := func(p psn.PSN) psn.PSN { return p&^3 + 4 }
		f.request(0, 4, false)
		f.request(4, 8, false)
		for _, p := range c.data {
			f.data(p, false, p&3 == 0)
		}
		for _, p := range c.from {
			f.request(p, end(p), false)
		}
		var got []psn.PSN
		for _, h := range f.holes {
			got = append(got, h.from)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: lacks %v, want %v", c.name, got, c.want)
		}
	}
}
