package recording

import (
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/capture"
)

// Flows beyond the limit are not learnt, and their frames are counted.
func TestFlowsAreLimited(t *testing.T) {
	l := newLearner()
	l.limit = 20
	m := many{conns: 100}
	var n capture.Lane
	for m.Next(&n.Frame) == nil {
		l.frame(&n)
	}
	if len(l.order) != 20 || l.beyond != 2*exchanges*together-20*exchanges {
		t.Errorf("%d flows and %d frames beyond, want 20 and %d", len(l.order), l.beyond,
			2*exchanges*together-20*exchanges)
	}
	var c Capture
	if (&captureFiles{}).count(l, &c); c.Limit != "900 frames are of more than 20 flows, and judged as of no connection; "+
		"split the capture" {
		t.Error(c.Limit)
	}
}
