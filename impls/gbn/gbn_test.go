package gbn

import (
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/engine/enginetest"
	"github.com/rdma-gauntlet/gauntlet/harness/memory"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

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
		{"READ gaps wait", set("read_gap", "wait")},
		{"NAKs repeat", set("nack_interval", "15us")},
		{"go back to chunks", set("backto0", "4000")},
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
		{"MTU 8192", func(qp *engine.QP) { qp.MTU = 8192 }},
		{"MTU 0", func(qp *engine.QP) { qp.MTU = 0 }},
		{"QPN 0x1000000", func(qp *engine.QP) { qp.QPN = 1 << 24 }},
		{"SendPSN 16777216", func(qp *engine.QP) { qp.SendPSN = 1 << 24 }},
		{"RetryCount 8", func(qp *engine.QP) { qp.RetryCount = 8 }},
		{"RNRRetry 8", func(qp *engine.QP) { qp.RNRRetry = 8 }},
		{"MinRNRTimer 32", func(qp *engine.QP) { qp.MinRNRTimer = 32 }},
		{"RTO -1ps", func(qp *engine.QP) { qp.RTO = -1 }},
		{"QueueDepth 0", func(qp *engine.QP) { qp.QueueDepth = 0 }},
		{"MaxDestRd -1", func(qp *engine.QP) { qp.MaxDestRd = -1 }},
		{"known are ack_delay, backto0, nack_interval, read_gap, rxe_infinite7", set("cap", "500")},
		{"read_gap", set("read_gap", "later")},
		{"nack_interval", set("nack_interval", "-1us")},
		{"ack_delay", set("ack_delay", "4")},
		{"backto0", set("backto0", "x")},
		{"rxe_infinite7", set("rxe_infinite7", "7")},
	} {
		qp := scriptQP(0)
		tc.change(&qp)
		_, _, err := Implementation().New(qp, &memory.Host{})
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("New says %v, want an error with %q", err, tc.want)
		}
	}
}

func TestDefaultsParse(t *testing.T) {
	cfg, err := parse(nil)
	if want := (config{ackDelay: 4 * vtime.Microsecond}); err != nil || cfg != want {
		t.Errorf("defaults are %+v, %v; want %+v", cfg, err, want)
	}
}
