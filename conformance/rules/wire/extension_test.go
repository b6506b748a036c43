package wire

import (
	"net/netip"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// The interface of a host fills in the checksum of the IPv4 header behind a capture there. A program's frames, at a tap
// of the harness, have nothing behind the tap that would.
func TestChecksumBehindTheTap(t *testing.T) {
	const checksum = 14 + 10 // of the IPv4 header, in a frame without tags
	f := roce.Frame{Src: netip.MustParseAddr("10.0.0.1"), Dst: netip.MustParseAddr("10.0.0.2"), TTL: 64,
		Packet: roce.Packet{BTH: roce.BTH{Opcode: roce.SendOnly, PKey: roce.DefaultPKey, DestQP: 18}}}
	for _, tc := range []struct {
		sum     uint16 // put in place of the checksum
		foreign bool
		want    int
	}{{0, true, -1}, {0, false, checksum}, {0x1234, true, checksum}} {
		raw := f.AppendTo(nil)
		raw[checksum], raw[checksum+1] = byte(tc.sum>>8), byte(tc.sum)
		var got roce.Frame
		if err := got.Decode(raw); err != nil {
			t.Fatal(err)
		}
		if at := difference(raw, &got, tc.foreign, false); at != tc.want {
			t.Errorf("checksum %#04x, foreign %v: byte %d differs, want %d", tc.sum, tc.foreign, at, tc.want)
		}
	}
}
