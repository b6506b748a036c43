package drive

import (
	"net/netip"

	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// Addr is the IP address of a side, the same on every bench, because a run has its network to itself.
func Addr(side trace.Side) netip.Addr {
	return netip.AddrFrom4([4]byte{10, 77, 0, byte(side) + 1})
}

// OverIPMAC replaces MAC in frames that are not RoCEv2. No device has the address, so the kernels of the namespaces
// leave the frames to the endpoints instead of answering a TCP segment with a reset, and a datagram with ICMP. Package
// packetio relies on it.
func OverIPMAC(side trace.Side) [6]byte { return [6]byte{2, 0, 0, 0x78, 0, byte(side) + 1} }

// MAC is the Ethernet address of a side, locally administered; the netns bench assigns it to its devices.
func MAC(side trace.Side) [6]byte { return [6]byte{2, 0, 0, 0x77, 0, byte(side) + 1} }

// SourcePort is the UDP source port of connection i, the same in both directions: the flow's entropy (annex A17).
func SourcePort(i int) uint16 { return uint16(0xC000 + i%0x4000) }

// PortConn is the inverse of SourcePort, for fewer connections than there are ports.
func PortConn(port uint16) int { return int(port) - 0xC000 }

// Frame puts the addresses of connection i around p, as sent by side. The identification is zero and DF is set, because
// the ICRC covers both and RoCEv2 packets are never fragmented.
func Frame(f *roce.Frame, side trace.Side, i int, p *roce.Packet) {
	*f = roce.Frame{
		SrcMAC: MAC(side), DstMAC: MAC(side.Other()), Src: Addr(side), Dst: Addr(side.Other()),
		TTL: 64, DF: true, SrcPort: SourcePort(i), DstPort: roce.Port, Packet: *p,
	}
	if p.Opcode.OverIP() {
		f.SrcMAC, f.DstMAC, f.DF = OverIPMAC(side), OverIPMAC(side.Other()), false
	}
}
