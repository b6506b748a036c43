package gobackone

import (
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/engine/enginetest"
	"github.com/rdma-gauntlet/gauntlet/harness/memory"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// set returns a change of the QP's parameters.
func set(name, value string) func(*engine.QP) {
	return func(qp *engine.QP) { qp.Params = engine.Params{name: value} }
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
		{"READ gaps wait", func(qp *engine.QP) { set("read_gap", "wait")(qp); qp.QueueDepth = 8 }},
		{"timeouts send one", set("rto", "one")},
		{"little is kept", set("max_ooo_psn", "3")},
		{"nothing is kept", set("max_ooo_psn", "1")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			enginetest.Run(t, Implementation(), enginetest.Options{QP: tc.qp})
		})
	}
}

func FuzzEngine(f *testing.F) { enginetest.Fuzz(f, Implementation(), enginetest.Options{}) }

func TestNewRejects(t *testing.T) {
	for _, tc := range []struct {
		want   string
		change func(*engine.QP)
	}{
		{"MTU 1000", func(qp *engine.QP) { qp.MTU = 1000 }},
		{"known are ack_delay, max_ooo_psn, read_gap, rto, rxe_infinite7", set("backto0", "4000")},
		{"max_ooo_psn: \"0\"", set("max_ooo_psn", "0")},
		{"max_ooo_psn: \"5000000\"", set("max_ooo_psn", "5000000")},
		{"max_ooo_psn: \"many\"", set("max_ooo_psn", "many")},
		{"want gbn or one", set("rto", "two")},
		{"read_gap", set("read_gap", "later")},
	} {
		qp := testQP(0)
		tc.change(&qp)
		_, _, err := Implementation().New(qp, &memory.Host{})
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("New says %v, want an error with %q", err, tc.want)
		}
	}
}

func testQP(start uint32) engine.QP {
	return engine.QP{QPN: 1, DestQPN: 2, PD: 7, PKey: roce.DefaultPKey, MTU: 256, SendPSN: 0, RecvPSN: 0,
		RTO: 100 * vtime.Microsecond, RetryCount: 2, RNRRetry: 1, MinRNRTimer: 12, QueueDepth: 8, ReceiveDepth: 2,
		MaxRdAtomic: 2, MaxDestRd: 2, Access: engine.AllAccess}
}
