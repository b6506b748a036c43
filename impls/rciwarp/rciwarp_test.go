package rciwarp

import (
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/engine/enginetest"
	"github.com/rdma-gauntlet/gauntlet/harness/memory"
)

// ops are the operations that iWARP has.
var ops = []engine.Op{engine.OpWrite, engine.OpSend, engine.OpRead, engine.OpSendInv}

// set returns a change of the QP's parameters.
func set(pairs ...string) func(*engine.QP) {
	return func(qp *engine.QP) {
		qp.Params = engine.Params{}
		for i := 0; i < len(pairs); i += 2 {
			qp.Params[pairs[i]] = pairs[i+1]
		}
	}
}

// TestContract runs the suite over the parameters that change which segments are sent.
func TestContract(t *testing.T) {
	for _, tc := range []struct {
		name string
		qp   func(*engine.QP)
	}{
		{"plain", func(*engine.QP) {}},
		{"no markers", set("markers", "off")},
		{"no CRC", set("crc", "off", "markers", "off")},
		{"small segments", func(qp *engine.QP) { set("mss", "300")(qp); qp.MTU = 256 }},
		{"large segments", set("mss", "8960")},
		{"small window", set("rwnd", "4096")},
		{"one at a time", func(qp *engine.QP) { qp.QueueDepth, qp.MaxRdAtomic, qp.MaxDestRd = 1, 1, 1 }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			enginetest.Run(t, Implementation(), enginetest.Options{QP: tc.qp, Ops: ops})
		})
	}
}

func TestNewRejects(t *testing.T) {
	for _, tc := range []struct {
		want   string
		change func(*engine.QP)
	}{
		{"QueueDepth 0", func(qp *engine.QP) { qp.QueueDepth = 0 }},
		{"the lower one opens", func(qp *engine.QP) { qp.DestQPN = qp.QPN }},
		{"known are congestion, crc, markers, min_rto, mss, retries, rwnd, tcp", set("ack_delay", "1us")},
		{"want on or off", set("markers", "yes")},
		{"want on or off", set("crc", "1")},
		{"mss: \"20\"", set("mss", "20")},
		{"retries: \"64\"", set("retries", "64")},
		{"rwnd: \"1\"", set("rwnd", "1")},
		{"want a positive time", set("min_rto", "0s")},
		{"want auto, kernel or lite", set("tcp", "linux")},
	} {
		qp := testQP()
		tc.change(&qp)
		_, _, err := new(Host).New(qp, &memory.Host{})
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("New says %v, want an error with %q", err, tc.want)
		}
	}
}

func testQP() engine.QP {
	return engine.QP{QPN: 1, DestQPN: 2, PD: 7, QueueDepth: 8, ReceiveDepth: 4, MaxRdAtomic: 2, MaxDestRd: 2,
		Access: engine.AllAccess}
}
