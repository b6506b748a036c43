package lowar_test

import (
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/engine/enginetest"
	"github.com/rdma-gauntlet/gauntlet/impls/gbn"
	"github.com/rdma-gauntlet/gauntlet/impls/gobackone"
	"github.com/rdma-gauntlet/gauntlet/impls/lowar"
)

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
		{"duplicates everything", set("r", "1", "t_rob", "20us")},
		{"interleaved", set("r", "8", "c", "2", "t_rob", "20us")},
		{"deep", set("r", "64", "c", "8")},
		{"no room to reorder", set("rob", "1", "r", "8")},
		{"no units to spare", set("units", "4", "r", "8", "c", "4")},
		{"ends disagree", set("r", "8", "recv_r", "4")},
		{"adaptive", set("adaptive", "true", "r", "8", "bdp", "64")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			enginetest.Run(t, lowar.Over(gbn.Implementation()), enginetest.Options{QP: tc.qp})
		})
	}
}

// TestContractOverSelectiveRepeat is TestContract over an engine that keeps out-of-order packets.
func TestContractOverSelectiveRepeat(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: TestContract runs the same suite over go-back-N")
	}
	for _, tc := range []struct {
		name string
		qp   func(*engine.QP)
	}{
		{"plain", func(*engine.QP) {}},
		{"interleaved", set("r", "8", "c", "2", "t_rob", "20us")},
		{"no room to reorder", set("rob", "1", "r", "8")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			enginetest.Run(t, lowar.Over(gobackone.Implementation()), enginetest.Options{QP: tc.qp})
		})
	}
}

func FuzzEngine(f *testing.F) {
	enginetest.Fuzz(f, lowar.Over(gbn.Implementation()), enginetest.Options{})
}
