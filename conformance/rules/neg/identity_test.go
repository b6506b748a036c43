package neg

import (
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Packets with an unknown QP number belong to no connection, which fixtures cannot express.
func TestStrangers(t *testing.T) {
	request := trace.Record{Sent: vtime.Never, Recv: 1000, From: trace.A, Conn: -1,
		Fate: trace.Injected, ICRC: trace.Good}
	request.Packet.Opcode = roce.WriteOnly
	answer := trace.Record{Sent: 2000, Recv: 3000, From: trace.B, Conn: -1, Fate: trace.Delivered, ICRC: trace.Good}
	answer.Packet.Opcode = roce.Acknowledge
	greeting := answer
	greeting.Packet.Opcode = roce.UDSendOnly
	damaged := request
	damaged.ICRC = trace.Bad
	for _, test := range []struct {
		name    string
		records []trace.Record
		want    rule.Status
	}{
		{"dropped", []trace.Record{request}, rule.Pass},
		{"answered", []trace.Record{request, answer}, rule.Fail},
		{"answered before it came", []trace.Record{{Sent: 500, Recv: 600, From: trace.B, Conn: -1,
			Packet: answer.Packet}, request}, rule.Pass},
		{"a datagram is no answer", []trace.Record{request, greeting}, rule.Pass},
		{"damaged", []trace.Record{damaged, answer}, rule.Inconclusive},
	} {
		h := trace.Header{Taps: [2]bool{true, true}, Conns: make([]trace.Conn, 1)}
		j := rule.NewJudge(h, []rule.Rule{unknownQP}, rule.Options{})
		sink := trace.NewTimeline(&h, j)
		for i := range test.records {
			sink.Packet(&test.records[i])
		}
		sink.End(4000)
		if got := j.Verdicts()[0]; got.Status != test.want {
			t.Errorf("%s: %v %v, want %v", test.name, got.Status, got.Findings, test.want)
		}
	}
}

func TestNetwork(t *testing.T) {
	frame := func(change func(*roce.Frame)) []byte {
		f := roce.Frame{Packet: roce.Packet{BTH: roce.BTH{Opcode: roce.SendOnly}, Len: 8}}
		change(&f)
		return f.AppendTo(nil)
	}
	four := frame(func(f *roce.Frame) {})
	for _, test := range []struct {
		name string
		raw  []byte
		udp  int
	}{
		{"IPv4", four, 20},
		{"VLAN", frame(func(f *roce.Frame) { f.HasVLAN, f.VLAN = true, 5 }), 20},
		{"no IP", append(append([]byte(nil), four[:14]...), make([]byte, 60)...), 0},
		{"cut before UDP ends", four[:14+27], 0},
		{"cut in the Ethernet header", four[:10], 0},
	} {
		if _, udp, _ := rule.Network(test.raw); udp != test.udp {
			t.Errorf("%s: UDP header at %d, want %d", test.name, udp, test.udp)
		}
		for n := range test.raw {
			rule.Network(test.raw[:n])
			source(test.raw[:n])
			holdsTooLittle(test.raw[:n])
		}
	}
}
