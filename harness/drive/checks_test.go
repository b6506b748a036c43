package drive

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// Each check drops the packet without an answer, before any engine, and counts it.
func TestChecks(t *testing.T) {
	tests := []struct {
		name string
		edit func(*roce.Frame)
		raw  func([]byte) []byte
		want string // name of the counter; "" when the packet passes
	}{
		{"good", nil, nil, ""},
		{"request", func(f *roce.Frame) { f.Packet.Opcode = roce.SendOnly }, nil, ""},
		{"unknown opcode", nil, func(b []byte) []byte { b[42] = 0x1E; roce.Reseal(b); return b }, "opcode"},
		{"version", func(f *roce.Frame) { f.Packet.TVer = 1 }, nil, "tver"},
		{"QP below", func(f *roce.Frame) { f.Packet.DestQP -= 2 }, nil, "qpn"},
		{"QP above", func(f *roce.Frame) { f.Packet.DestQP += 2 }, nil, "qpn"},
		{"other class", func(f *roce.Frame) { f.Packet.Opcode = roce.UCSendFirst }, nil, "class"},
		{"datagram", func(f *roce.Frame) { f.Packet.Opcode = roce.UDSendOnly; f.Packet.Payload = make([]byte, 4) }, nil,
			"class"},
		{"partition", func(f *roce.Frame) { f.Packet.PKey = 0xFFFE }, nil, "pkey"},
		{"limited member", func(f *roce.Frame) { f.Packet.PKey = 0x7FFF }, nil, ""},
		{"source", func(f *roce.Frame) { f.Src = netip.MustParseAddr("10.77.0.9") }, nil, "source"},
		{"ICRC", nil, func(b []byte) []byte { b[len(b)-1]++; return b }, "icrc"},
		{"truncated", nil, func(b []byte) []byte { return b[:len(b)-1] }, "malformed"},
		{"port", func(f *roce.Frame) { f.DstPort = 9 }, nil, "-"}, // foreign traffic is not counted
	}
	for _, tt := range tests {
		b := newBed(t, Options{}, "qp count=2", "load write msg=1 count=1", "report detail")
		p := b.good(1)
		var f roce.Frame
		Frame(&f, trace.B, 1, &p)
		if tt.edit != nil {
			tt.edit(&f)
		}
		raw := f.AppendTo(nil)
		if tt.raw != nil {
			raw = tt.raw(raw)
		}
		b.ReceiveFrame(5, raw)
		want := map[string]int64{}
		passed := b.req[1].handled+b.resp[1].handled == 1
		if tt.want != "" && tt.want != "-" {
			want[tt.want] = 1
			if b.count(trace.Count) != 1 {
				t.Errorf("%s: %d events", tt.name, b.count(trace.Count))
			}
		}
		if d := cmp.Diff(want, b.Counters()); d != "" || passed != (tt.want == "") || b.Ready() != passed {
			t.Errorf("%s: passed %v, counters -want +got\n%s", tt.name, passed, d)
		}
	}
}

// Datagrams pass when the implementation accepts them and they have its Q_Key.
func TestDatagrams(t *testing.T) {
	b := newBed(t, Options{}, "load write msg=1 count=1")
	b.checks.accepts, b.checks.qkey = func(o roce.Opcode) bool { return o == roce.UDSendOnly }, 7
	for i, tt := range []struct {
		qkey    uint32
		handled int
	}{{7, 1}, {8, 1}, {7, 2}} {
		p := b.good(0)
		p.Opcode, p.DETH.QKey = roce.UDSendOnly, tt.qkey
		b.Receive(0, &p)
		if b.resp[0].handled != tt.handled {
			t.Errorf("packet %d: %d handled, want %d", i, b.resp[0].handled, tt.handled)
		}
	}
	if got := b.Counters()["qkey"]; got != 1 {
		t.Errorf("%d counted, want 1", got)
	}
}

func TestPartitionKeys(t *testing.T) {
	for _, tt := range []struct {
		a, b uint16
		want bool
	}{
		{0xFFFF, 0xFFFF, true}, {0xFFFF, 0x7FFF, true}, {0x7FFF, 0xFFFF, true}, {0x7FFF, 0x7FFF, false},
		{0x8001, 0x8002, false}, {0x8000, 0x8000, false}, {0, 0, false}, {0x8001, 0x0001, true},
	} {
		if got := pkeysMatch(tt.a, tt.b); got != tt.want {
			t.Errorf("%#x and %#x: %v", tt.a, tt.b, got)
		}
	}
}

// Drops of packets for an unknown connection are reported too.
func TestCountOfNobody(t *testing.T) {
	b := newBed(t, Options{}, "qp count=2", "load write msg=1 count=1", "report detail")
	for _, qpn := range []uint32{0, 1<<24 - 1} {
		p := b.good(0)
		p.DestQP = qpn
		b.Receive(9, &p)
	}
	if n := len(b.seen); n != 2 || b.seen[1].Value != 2 || b.seen[1].Name != "qpn" || b.seen[1].At != 9 ||
		b.seen[1].Conn >= 2 {
		t.Errorf("reported %+v", b.seen)
	}
}
