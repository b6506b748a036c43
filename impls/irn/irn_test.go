package irn

import (
	"math"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/engine/enginetest"
	"github.com/rdma-gauntlet/gauntlet/harness/memory"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

var ops = []engine.Op{engine.OpWrite, engine.OpSend, engine.OpRead, engine.OpWriteImm, engine.OpSendImm,
	engine.OpFetchAdd, engine.OpCompareSwap}

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
		{"large packets", func(qp *engine.QP) { qp.MTU = 4096 }},
		{"one at a time", func(qp *engine.QP) {
			qp.QueueDepth, qp.MaxRdAtomic, qp.MaxDestRd, qp.ReceiveDepth = 1, 1, 1, 1
		}},
		{"cap of 1", set("cap", "1")},
		{"cap of 3", set("cap", "3")},
		{"two timeouts", set("rto_low", "15us", "rto_high", "60us")},
		{"large N", set("rto_low", "15us", "rto_high", "60us", "rto_n", "100")},
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
		{"MTU 1000", func(qp *engine.QP) { qp.MTU = 1000 }},
		{"QPN 0x1000000", func(qp *engine.QP) { qp.QPN = 1 << 24 }},
		{"SendPSN 16777216", func(qp *engine.QP) { qp.SendPSN = 1 << 24 }},
		{"RetryCount 8", func(qp *engine.QP) { qp.RetryCount = 8 }},
		{"MinRNRTimer 32", func(qp *engine.QP) { qp.MinRNRTimer = 32 }},
		{"QueueDepth 0", func(qp *engine.QP) { qp.QueueDepth = 0 }},
		{"MaxDestRd -1", func(qp *engine.QP) { qp.MaxDestRd = -1 }},
		{"parameter window is not known; known are cap", set("window", "500")},
		{"parameter cap", set("cap", "0")},
		{"rto_low", set("rto_low", "-1us")},
		{"rto_high", set("rto_high", "soon")},
		{"rto_n", set("rto_n", "-1")},
		{"rtt", set("rtt", "4")},
	} {
		qp := engine.QP{MTU: 1024, QueueDepth: 1}
		tc.change(&qp)
		if _, _, err := Implementation().New(qp, &memory.Host{}); err == nil ||
			!strings.Contains(err.Error(), tc.want) {
			t.Errorf("New says %v, want an error with %q", err, tc.want)
		}
	}
}

// TestTimeouts: the order of precedence is parameters, round-trip time, QP.
func TestTimeouts(t *testing.T) {
	const us = vtime.Microsecond
	for _, tc := range []struct {
		params    engine.Params
		qp        engine.QP
		low, high vtime.Duration
	}{
		{nil, engine.QP{}, 0, 0},
		{nil, engine.QP{Timeout: 1}, 8192 * vtime.Nanosecond, 8192 * vtime.Nanosecond},
		{nil, engine.QP{RTO: 50 * us}, 50 * us, 50 * us},
		{engine.Params{"rtt": "24us"}, engine.QP{Timeout: 14}, 30 * us, 72 * us},
		{engine.Params{"rtt": "24us"}, engine.QP{RTO: 50 * us}, 30 * us, 50 * us},
		{engine.Params{"rtt": "24us"}, engine.QP{RTO: 20 * us}, 20 * us, 20 * us},
		{engine.Params{"rto_low": "100us", "rto_high": "320us"}, engine.QP{RTO: 50 * us}, 100 * us, 320 * us},
		{engine.Params{"rto_low": "100us"}, engine.QP{RTO: 50 * us}, 50 * us, 50 * us},
	} {
		var cfg Config
		if err := tc.params.Read("irn", Params(), func(n, v string) error {
			_, err := cfg.Set(n, v)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if got := cfg.timeouts(&tc.qp); got.low != tc.low || got.high != tc.high {
			t.Errorf("%v: %v and %v, want %v and %v", tc.params, got.low, got.high, tc.low, tc.high)
		}
	}
}

// The numbers that the FaSR paper gives for IRN (II-A, V-A, V-C).
func TestAccounting(t *testing.T) {
	for _, tc := range []struct {
		what      string
		got, want float64
	}{
		{"bitmaps of a QP at 500 packets", BitmapBytes(1, 500), 312.5},
		{"bitmaps of 5000 QPs", BitmapBytes(5000, 500), 1_562_500},
		{"bitmaps of 128 packets", BitmapBytes(1, 128), 80},
		{"QPs in 1.4 MB", math.Round(QPs(1.4e6, 500)), 2379},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: %v, want %v", tc.what, tc.got, tc.want)
		}
	}
}

// TestReadSpan: READs whose responses would span too many PSNs are not outstanding together; a peer that requests them
// is refused.
func TestReadSpan(t *testing.T) {
	qp := engine.QP{MTU: 256, QueueDepth: 4, MaxRdAtomic: 4, MaxDestRd: 4, Access: engine.AllAccess}
	const gib = 1 << 30 // 2^22 responses
	var mem memory.Host
	if err := mem.Register(memory.Region{RKey: 2, Base: 0, Len: 4 * gib, Access: engine.AllAccess}); err != nil {
		t.Fatal(err)
	}
	req, resp, err := Implementation().New(qp, &mem)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := req.Post(0, engine.WorkRequest{Op: engine.OpRead, Len: gib, RKey: 2}); err != nil {
			t.Fatal(err)
		}
	}
	var p roce.Packet
	if !req.PollTransmit(0, &p) {
		t.Fatal("the first READ does not leave")
	}
	first := p
	if req.PollTransmit(0, &p) {
		t.Errorf("%s leaves beside a READ of 2^22 responses", &p)
	}
	second := first
	second.PSN, second.SO.SN = 1, 1
	resp.HandlePacket(0, &first)
	resp.HandlePacket(0, &second)
	if ev, _ := resp.PollEvent(); ev.Kind != engine.Fatal || ev.Status != engine.StatusRemoteInvalid {
		t.Errorf("the responder says %v", ev)
	}
}
