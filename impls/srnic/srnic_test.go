package srnic

import (
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/engine/enginetest"
	"github.com/rdma-gauntlet/gauntlet/harness/memory"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
)

var ops = []engine.Op{engine.OpWrite, engine.OpSend, engine.OpRead, engine.OpWriteImm, engine.OpSendImm}

func readStart(qp engine.QP) psn.PSN { return qp.RecvPSN }

// set returns a change of the QP's parameters: "name", "value" and so on.
func set(pairs ...string) func(*engine.QP) {
	return func(qp *engine.QP) {
		qp.Params = engine.Params{}
		for i := 0; i < len(pairs); i += 2 {
			qp.Params[pairs[i]] = pairs[i+1]
		}
	}
}

// TestContract runs the suite over the attributes and parameters that change which packets are sent, and when.
func TestContract(t *testing.T) {
	for _, tc := range []struct {
		name string
		qp   func(*engine.QP)
	}{
		{"plain", func(*engine.QP) {}},
		{"small packets", func(qp *engine.QP) { qp.MTU = 256 }},
		{"one at a time", func(qp *engine.QP) {
			qp.QueueDepth, qp.MaxRdAtomic, qp.MaxDestRd, qp.ReceiveDepth = 1, 1, 1, 1
		}},
		{"cap of 3", set("cap", "3")},
		{"no queries", set("tq", "0", "rate", "0")},
		{"slow pipeline", set("rate", "40G", "tq", "3us", "queries", "4")},
		{"small buffer", set("tq", "3us", "buffer", "4")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			enginetest.Run(t, Implementation(), enginetest.Options{QP: tc.qp, Ops: ops, ReadStart: readStart})
		})
	}
}

func FuzzEngine(f *testing.F) {
	enginetest.Fuzz(f, Implementation(), enginetest.Options{Ops: ops, ReadStart: readStart})
}

func TestNewRejects(t *testing.T) {
	for _, tc := range []struct {
		want   string
		change func(*engine.QP)
	}{
		{"srnic: MTU 1000", func(qp *engine.QP) { qp.MTU = 1000 }},
		{"srnic: parameter units is not known; known are buffer, cap, queries", set("units", "20")},
		{"srnic: parameter cap", set("cap", "0")},
		{"parameter tq", set("tq", "-1us")},
		{"parameter queries", set("queries", "17")},
		{"parameter rate", set("rate", "fast")},
		{"parameter buffer", set("buffer", "0")},
	} {
		qp := engine.QP{MTU: 1024, QueueDepth: 1}
		tc.change(&qp)
		if _, _, err := Implementation().New(qp, &memory.Host{}); err == nil ||
			!strings.Contains(err.Error(), tc.want) {
			t.Errorf("New says %v, want an error with %q", err, tc.want)
		}
	}
}

// QPs of 256 and 12 bytes in the 1.4 MB of the testbed (FaSR V-A).
func TestAccounting(t *testing.T) {
	if got := QPs(1.4e6); got != 5223 {
		t.Errorf("%d QPs in 1.4 MB, want 5223", got)
	}
}
