package fasr

import (
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/engine/enginetest"
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

// TestContract runs the suite over the attributes and parameters that change which packets are sent.
func TestContract(t *testing.T) {
	for _, tc := range []struct {
		name string
		qp   func(*engine.QP)
	}{
		{"plain", func(*engine.QP) {}},
		{"small packets", func(qp *engine.QP) { qp.MTU = 256 }},
		{"large packets", func(qp *engine.QP) { qp.MTU = 4096; qp.AckReqEvery = 0 }},
		{"one at a time", func(qp *engine.QP) {
			qp.QueueDepth, qp.MaxRdAtomic, qp.MaxDestRd, qp.ReceiveDepth = 1, 1, 1, 1
		}},
		{"ACK everything", func(qp *engine.QP) { qp.AckReqEvery, qp.AckCoalesce = 1, 0 }},
		{"ACK rarely", func(qp *engine.QP) { qp.AckReqEvery, qp.AckCoalesce = 64, 64 }},
		{"credit", set("lostcnt_credit", "true")},
		{"exact", set("lc1_exact", "true")},
		{"blocks of 16", set("block_bits", "16")},
		{"one block", set("blocks", "1", "block_bits", "1")},
		{"no blocks", set("blocks", "0")},
		{"no units", set("units", "0")},
		{"window of 3", set("window", "3")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			enginetest.Run(t, Implementation(), enginetest.Options{QP: tc.qp, Ops: ops, ReadStart: readStart})
		})
	}
}

func FuzzEngine(f *testing.F) {
	enginetest.Fuzz(f, Implementation(), enginetest.Options{Ops: ops, ReadStart: readStart})
}
