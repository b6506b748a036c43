package evidence

import (
	"slices"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
)

// A READ that is sent again shows that the capture lacks data within it only if the requester does not await data from
// there, or from before: what comes after missing data is discarded and requested again.
func TestReadsSentAgain(t *testing.T) {
	for _, c := range []struct {
		name string
		data []psn.PSN // data that have passed, of READs of [0, 4) and [4, 8)
		from []psn.PSN // the READs sent again start there, and end as they did
		want []psn.PSN // data that the capture lacks
	}{
		{"two lost", []psn.PSN{0, 2, 4}, []psn.PSN{1}, nil},
		{"one lost of each READ", []psn.PSN{0, 2, 3, 4, 6, 7}, []psn.PSN{1, 4}, nil},
		{"one that the requester does not request first", []psn.PSN{0, 1, 3}, []psn.PSN{0}, []psn.PSN{2}},
		{"the last, which may be on its way", []psn.PSN{0, 1, 2, 4}, []psn.PSN{1}, nil},
		{"one of the second READ", []psn.PSN{0, 1, 2, 3, 4, 6}, []psn.PSN{4}, []psn.PSN{5}},
	} {
		var f fetched
		end := func(p psn.PSN) psn.PSN { return p&^3 + 4 }
		f.request(0, 4, false)
		f.request(4, 8, false)
		for _, p := range c.data {
			f.data(p, false, p&3 == 0)
		}
		var got []psn.PSN
		for _, p := range c.from {
			got = append(got, f.request(p, end(p), false)...)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: lacks %v, want %v", c.name, got, c.want)
		}
	}
}
