package drive

import (
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/impls/gbn"

	"github.com/google/go-cmp/cmp"
)

// SeriesOf returns the requests that an Endpoint posts first, up to its queue depth.
func TestSeriesAreWhatAnEndpointPosts(t *testing.T) {
	for _, text := range append([]string{"load write msg=1000 count=5\nload write msg=77 count=3\n",
		"load write cdf=100:0.5,9000:1 count=20\n"}, worked...) {
		s, err := scenario.Parse(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		for _, side := range []trace.Side{trace.A, trace.B} {
			var seen posts
			e, err := New(s, side, gbn.Implementation(), Options{Observer: &seen})
			if err != nil {
				t.Fatal(err)
			}
			e.Start(0)
			told, count := followSeries(s, side)
			if d := cmp.Diff(told, byWork(seen.list)); d != "" {
				t.Errorf("%q at %s: -told +posted\n%s", text, side, d)
			}
			if n := s.Ordered(side); n.Endless || count != n.Requests {
				t.Errorf("%q at %s: the series have %d requests, %+v are ordered", text, side, count, n)
			}
		}
	}
}

// followSeries returns the requests of all series, and their number.
func followSeries(s *scenario.Spec, side trace.Side) (all map[request]bool, n int64) {
	all = map[request]bool{}
	for i := range s.QPs {
		for _, list := range SeriesOf(s, side, i) {
			for k := range list.Count {
				wr := list.Request(k)
				all[request{i, wr.ID, wr.Op.String(), wr.RemoteVA, wr.Len, wr.RKey}] = true
				n++
			}
		}
	}
	return all, n
}

// Turns are posted one by one, on the first connection.
func TestSeriesOfTurns(t *testing.T) {
	for text, want := range map[string][2]int64{"turns write msg=64 count=3\n": {3, 3},
		"turns rping from=B msg=64 count=2\n": {8, 4}} {
		s, err := scenario.Parse(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		for _, side := range []trace.Side{trace.A, trace.B} {
			if _, n := followSeries(s, side); n != want[side] || s.Ordered(side).Requests != n {
				t.Errorf("%q: %s has %d requests, want %d", text, side, n, want[side])
			}
		}
	}
}
