// Package iwarp is the wire format of iWARP above the transport: DDP segments with their RDMAP control bits, the body
// of a READ request and of a Terminate, the header that RDMA Write-Record adds, and the datagram that carries one
// segment over UDP.
//
// Sources: RFC 5041 (DDP), RFC 5040 (RDMAP); for datagrams and Write-Record, Grant, Rashti, Balaji and Afsahi, RDMA
// Capable iWARP over Datagrams. The paper gives no layout: the opcode and header of Write-Record are this project's
// own.
//
// A Segment is what a stack hands to its lower layer. Decoding allocates nothing, and a payload refers to the bytes
// that were decoded.
package iwarp

import "github.com/rdma-gauntlet/gauntlet/harness/roce"

// Port is the port of the passive side: the destination of every datagram and of every connection.
const Port = roce.PortIWARP

// firstPort is the first dynamic port (RFC 6335); a sender uses one dynamic port for each QP.
const firstPort = 0xC000

// PortOf returns the UDP or TCP port of a QP, which follows from its number: "each socket is only associated with a
// single QP" (V-A, 1). Numbers that differ in their low 14 bits have different ports.
func PortOf(qpn uint32) uint16 { return firstPort | uint16(qpn&0x3FFF) }

// PeerPort returns the port that identifies the connection of a packet, the one that is not Port, and whether it is the
// sender's. In a datagram it is always the sender's.
func PeerPort(src, dst uint16) (port uint16, senders bool) {
	if dst != Port {
		return dst, false
	}
	return src, true
}
