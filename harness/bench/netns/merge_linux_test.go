package netns

import (
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// TestHopBounds: what the merger may rely on follows from the link, and from nothing when a packet can be let through or held back.
func TestHopBounds(t *testing.T) {
	for text, want := range map[string]struct {
		least   vtime.Duration
		ordered bool
	}{
		"link rate=50M delay=5ms\n":                           {5 * vtime.Millisecond, true},
		"link rate=50M delay=5ms jitter=2ms\n":                {3 * vtime.Millisecond, false},
		"link rate=50M delay=5ms reorder=1%\n":                {0, false},
		"link rate=50M delay=5ms\ndelay A psn=+3 by=100us\n":  {5 * vtime.Millisecond, true},
		"link rate=50M delay=5ms\nloss random p=1%\nseed 3\n": {5 * vtime.Millisecond, true},
	} {
		s, err := scenario.Parse(strings.NewReader(text + "load write msg=1024 count=5\n"))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		h := routeOf(s, false)[0]
		if least := h.least(); least[0] != want.least || h.ordered() != want.ordered {
			t.Errorf("%s: least %v, ordered %v; want %v, %v", text, least[0], h.ordered(), want.least, want.ordered)
		}
	}
}
