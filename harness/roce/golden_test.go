package roce

import (
	"encoding/hex"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// cmpAddr compares addresses, whose fields are private.
var cmpAddr = cmpopts.EquateComparable(netip.Addr{})

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// ucSendOnly is the first public ICRC vector, a captured UC SEND_ONLY between two ends on one host. Its UDP checksum is
// in use. The publication has no MAC addresses, which the ICRC does not cover.
func ucSendOnly(t *testing.T) []byte {
	t.Helper()
	return unhex(t, "000000000000000000000000"+"0800"+
		"450100400478400040"+"11b4d5"+"c0a80007c0a80007"+
		"c00012b7002caca2"+
		"2460ffff000000d300cf1710"+
		"4630818be28935d90e9a95505401be885e500000"+
		"78f353f3")
}

// cnpCapture is the second public ICRC vector, a complete CNP from a ConnectX-4 Lx.
func cnpCapture(t *testing.T) []byte {
	t.Helper()
	return unhex(t,
		"e41d2dab2bc27cfe90643b32080045c2003c718c4000401191610a0011010a001201000012b7002800008100ffff4000011800"+
			"0000000000000000000000000000000000000082fd002a")
}

func TestICRCVectors(t *testing.T) {
	for _, tt := range []struct {
		name  string
		frame []byte
		want  uint32 // little-endian reading of the last four bytes
		text  string
	}{
		{"UC SEND_ONLY", ucSendOnly(t), 0xF353F378, "UC_SEND_ONLY psn=13571856 qp=211 len=18 MIG"},
		{"CNP", cnpCapture(t), 0x2A00FD82, "CNP psn=0 qp=280 len=16 BECN"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := ICRC(tt.frame)
			if !ok || got != tt.want || !CheckICRC(tt.frame) {
				t.Errorf("ICRC = %#x, %v, want %#x", got, ok, tt.want)
			}
			var f Frame
			if err := f.Decode(tt.frame); err != nil {
				t.Fatal(err)
			}
			if !f.ICRCOK(tt.frame) {
				t.Error("ICRCOK = false")
			}
			if got := f.Packet.String(); got != tt.text {
				t.Errorf("text %q, want %q", got, tt.text)
			}
			out := f.AppendTo(nil)
			Reseal(tt.frame) // does not change a correct frame
			copy(out[40:42], tt.frame[40:42])
			if diff := cmp.Diff(tt.frame, out); diff != "" {
				t.Errorf("encoded again (-want +got):\n%s", diff)
			}
		})
	}
}
