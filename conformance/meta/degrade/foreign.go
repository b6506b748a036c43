package degrade

import (
	"encoding/binary"
	"net/netip"

	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// foreign returns a frame of unrelated traffic: an ARP request, a datagram to a name server, or a CNP between other
// hosts.
func foreign(draw uint64) []byte {
	switch draw % 3 {
	case 0:
		b := make([]byte, 60)
		binary.BigEndian.PutUint16(b[12:], 0x0806)
		b[0], b[14+1], b[14+7] = 0xFF, 1, 1
		return b
	case 1:
		b := other(draw)
		off, _, _ := roce.FieldSpan(b, "udpdport")
		binary.BigEndian.PutUint16(b[off:], 53)
		return b
	}
	return other(draw)
}

// other returns a CNP between hosts that are not part of the run.
func other(draw uint64) []byte {
	f := roce.Frame{SrcMAC: [6]byte{2, 0, 0, 0, 9, 1}, DstMAC: [6]byte{2, 0, 0, 0, 9, 2},
		Src: netip.MustParseAddr("192.0.2.77"),
		Dst: netip.MustParseAddr("192.0.2.78"), TTL: 64, DF: true, SrcPort: 0xC123,
		Packet: roce.Packet{Payload: make([]byte, 16), Len: 16}}
	f.Packet.BTH = roce.BTH{Opcode: roce.CNP, BECN: true, DestQP: uint32(draw>>8) & 0xFFFF, PKey: 0xFFFF}
	return f.AppendTo(nil)
}
