package rc

import (
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
)

func TestAcrossWrap(t *testing.T) {
	for _, c := range []struct {
		a, b psn.MSN
		want bool
	}{{3, 5, false}, {5, 3, false}, {7, 7, false}, {psn.Mask, 0, true}, {0, psn.Mask, true}, {psn.Mask - 2, 4, true},
		{psn.Mask - 2, psn.Mask, false}} {
		if got := acrossWrap(c.a, c.b); (got != "") != c.want {
			t.Errorf("%d, %d: %q", c.a, c.b, got)
		}
	}
}
