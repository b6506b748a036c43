package openapn

import (
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/scenariotest"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/engine/enginetest"
	"github.com/rdma-gauntlet/gauntlet/harness/memory"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

func TestContract(t *testing.T) { enginetest.Run(t, Implementation(), enginetest.Options{}) }

func TestLadders(t *testing.T) { scenariotest.Run(t, Implementation(), "testdata") }

// testQP is one end of a QP over the paper's 100 km.
func testQP() engine.QP {
	return engine.QP{QPN: 1, DestQPN: 2, PKey: roce.DefaultPKey, MTU: 4096, Timeout: 14, RetryCount: 7,
		QueueDepth: 128, ReceiveDepth: 8,
		Path: engine.Path{RTT: vtime.Millisecond, Rate: 100 * unit.Gbps, Message: 4096}}
}

func TestQueueDepth(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*engine.QP)
		want   int
		note   string
	}{
		{"the paper's path", func(*engine.QP) {}, 2993, ""},
		{"rounded up", func(qp *engine.QP) { qp.Params = engine.Params{"round": "ceil"} }, 2992, ""},
		{"as printed", func(qp *engine.QP) { qp.Params = engine.Params{"round": "floor"} }, 2991, ""},
		{"longer than the device", func(qp *engine.QP) { qp.Path.RTT = 10 * vtime.Millisecond }, DeviceCap,
			"asks for a queue of 29920"},
		{"a small device", func(qp *engine.QP) { qp.Params = engine.Params{"cap": "100"} }, 100, "the device has 100"},
		{"messages, not packets", func(qp *engine.QP) { qp.Path.Message = 64 << 10 }, 188, ""},
		{"no message known", func(qp *engine.QP) { qp.Path.Message = 0 }, 2993, ""},
		{"one is enough", func(qp *engine.QP) {
			qp.Path.RTT, qp.Params = vtime.Nanosecond,
				engine.Params{"round": "floor"}
		}, 1, ""},
	} {
		qp := testQP()
		tc.change(&qp)
		got, note, err := queueDepth(qp)
		if err != nil || got != tc.want || !strings.Contains(note, tc.note) || tc.note == "" && note != "" {
			t.Errorf("%s: %d, %q, %v; want %d, %q", tc.name, got, note, err, tc.want, tc.note)
		}
	}
}

func TestRejects(t *testing.T) {
	for _, tc := range []struct {
		want   string
		change func(*engine.QP)
	}{
		{"cap: \"0\"", func(qp *engine.QP) { qp.Params = engine.Params{"cap": "0"} }},
		{"cap: \"all\"", func(qp *engine.QP) { qp.Params = engine.Params{"cap": "all"} }},
		{"want busy, ceil or floor", func(qp *engine.QP) { qp.Params = engine.Params{"round": "up"} }},
		{"RTT", func(qp *engine.QP) { qp.Path.RTT = 0 }},
		{"unlimited", func(qp *engine.QP) { qp.Path.Rate = 0 }},
	} {
		qp := testQP()
		tc.change(&qp)
		if _, _, err := queueDepth(qp); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%v, want an error about %s", err, tc.want)
		}
	}
	qp := testQP()
	qp.Params = engine.Params{"cap": "0"}
	if _, _, err := New(qp, &memory.Host{}); err == nil {
		t.Error("New takes a device without a queue")
	}
	qp.Params = engine.Params{"depth": "9"}
	if _, _, err := New(qp, &memory.Host{}); err == nil || !strings.Contains(err.Error(), "depth") {
		t.Errorf("an unknown parameter gives %v", err)
	}
}
