package rule

import (
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// A box stands in for an end of A's requests alone, on the hop that the trace names. Where it names none, it may stand
// in for every end if the transport has a box.
func TestWhereABoxStandsIn(t *testing.T) {
	for _, c := range []struct {
		hop      trace.Hop
		features []string
		req      trace.Side
		by, at   bool
	}{
		{trace.LANHop, []string{"rc", HasBox}, trace.A, false, true},
		{trace.WANHop, []string{"rc", HasBox}, trace.A, true, false},
		{trace.LANHop, []string{"rc", HasBox}, trace.B, false, false},
		{trace.Whole, []string{"rc", HasBox}, trace.A, true, true},
		{trace.Whole, []string{"rc", HasBox}, trace.B, true, true},
		{trace.Whole, []string{"rc"}, trace.A, false, false},
	} {
		if by, at := standsIn(c.hop, c.req, c.features); by != c.by || at != c.at {
			t.Errorf("hop %v, %v, requests of %v: by %v, at %v", c.hop, c.features, c.req, by, at)
		}
	}
}
