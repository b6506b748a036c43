package sim

import (
	"net/netip"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/netem/channel"
)

// An endpoint that leaves the padding to the encoder sends what the packet needs; one that asks for a wrong one sends a
// frame that does not decode, which its record tells.
func TestTheRecordTellsThePaddingOfTheFrame(t *testing.T) {
	host := netip.MustParseAddr("10.0.0.1")
	for _, c := range []struct {
		asks, has uint8
		defect    bool
	}{{asks: 0, has: 3}, {asks: 3, has: 3}, {asks: 1, has: 1, defect: true}} {
		p := roce.Packet{BTH: roce.BTH{Opcode: roce.SendOnly, Pad: c.asks}, Len: 5, Payload: []byte("12345")}
		frame := roce.Frame{Src: host, Dst: host, Packet: p}
		r := trace.Record{Packet: p}
		recordBytes(&r, &flight{raw: frame.AppendTo(nil)}, &channel.Verdict{}, false)
		if r.Packet.Pad != c.has || (r.Defect != "") != c.defect || !c.defect && string(r.Packet.Payload) != "12345" {
			t.Errorf("padding %d: %d, defect %q, payload %q", c.asks, r.Packet.Pad, r.Defect, r.Packet.Payload)
		}
	}
}
