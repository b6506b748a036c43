package degrade

import (
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// A copy that the link made arrives before a packet that arrives at the same time, as in the run.
func TestCopiesArriveFirst(t *testing.T) {
	w := &Wire{packets: []passed{
		{sent: 1, recv: 3, from: trace.A, raw: []byte("b"), got: []byte("b")},
		{sent: 2, recv: 5, from: trace.A, raw: []byte("a"), got: []byte("a")},
		{sent: 1, recv: 5, from: trace.A, raw: []byte("b"), got: []byte("b"), twin: true},
	}}
	got := ""
	for _, f := range w.port(trace.B) {
		got += string(f.Raw)
	}
	if got != "bba" {
		t.Errorf("%s arrive, want bba", got)
	}
}
