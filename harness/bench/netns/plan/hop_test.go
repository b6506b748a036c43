package plan

import (
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// TestHopBounds: the bounds that the merger relies on follow from the link. There are none when a fault can pass or
// hold a packet.
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
		h := RouteOf(s, false)[0]
		if least := h.Least(); least[0] != want.least || h.Ordered() != want.ordered {
			t.Errorf("%s: least %v, ordered %v; want %v, %v", text, least[0], h.Ordered(), want.least, want.ordered)
		}
	}
}

// The window of the merger covers the delay of the link and the time in its queue, up to a limit.
func TestWindow(t *testing.T) {
	const ms, us = vtime.Millisecond, vtime.Microsecond
	for text, want := range map[string]vtime.Duration{
		"link delay=10ms\n":                         520 * ms,
		"link rate=1M delay=10ms queue=100\n":       520*ms + 2*100*(1024+90)*8*us,
		"link delay=10ms\ndelay A psn=+1 by=40ms\n": 560 * ms,
		"link rate=1M delay=10ms queue=999999\n":    MaxWindow,
	} {
		s, err := scenario.Parse(strings.NewReader(text + "load write msg=1KiB count=1\n"))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := RouteOf(s, false).Window(s.QP[0].MTU); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
