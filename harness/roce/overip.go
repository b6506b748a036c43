package roce

import (
	"encoding/binary"
	"math/bits"
	"net/netip"
)

// PortIWARP identifies the packets of an iWARP run: it is the destination port of every datagram, and the port of the
// passive end of every TCP connection. No port is assigned to iWARP; this one is the project's own choice.
const PortIWARP = 4795

// maxIPPayload is the largest payload of an IPv4 packet in bytes.
const maxIPPayload = 65535 - ipv4Len

// protocol returns the IP protocol number of the frame's packet.
func (f *Frame) protocol() byte {
	if f.Packet.Opcode == TCP {
		return protoTCP
	}
	return protoUDP
}

// appendOverIP is AppendTo for a packet without BTH: the IPv4 header with its fragment fields, and the payload. A TCP
// segment gets its checksum here, because it covers the addresses; a UDP datagram keeps the checksum in its payload,
// which may be zero, meaning none.
func (f *Frame) appendOverIP(b []byte) []byte {
	l3 := f.l3()
	b, out := extend(b, f.Len())
	f.putEthernet(out)
	ip := out[l3:]
	f.putIPv4(ip, len(ip))
	n := copy(ip[ipv4Len:], f.Packet.Payload)
	clear(ip[ipv4Len+n:])
	if f.Packet.Opcode == TCP && f.Packet.IP.Fragment.Whole() {
		putTCPChecksum(ip)
	}
	return b
}

// id returns the IPv4 identification. A packet without BTH has its own, because it says to which datagram a fragment
// belongs.
func (f *Frame) id() uint16 {
	if f.Packet.Opcode.OverIP() {
		return f.Packet.IP.ID
	}
	return f.ID
}

// fragmentWord returns the second half of the second word of an IPv4 header: flags and fragment offset. DF is never set
// in a packet without BTH, because such packets may be fragmented.
func (f *Frame) fragmentWord() uint32 {
	w := uint32(bit(f.DF, 6)) << 8
	if f.Packet.Opcode.OverIP() {
		w = uint32(f.Packet.IP.Fragment & (fragmentOffset | moreFragments))
	}
	return w
}

// DecodeAny is Decode for links that carry more than RoCEv2: packets to or from PortIWARP are read as UDP or TCP. A
// fragment other than the first has no ports; it is read so too, because RoCEv2 packets are never fragmented.
func (f *Frame) DecodeAny(b []byte) error {
	off, end, ok := overIP(b)
	if !ok {
		return f.Decode(b)
	}
	be := binary.BigEndian
	ip := b[ethLen:off]
	frag := be.Uint16(ip[6:])
	*f = Frame{DstMAC: [6]byte(b), SrcMAC: [6]byte(b[6:]), TOS: ip[1], TTL: ip[8], ID: be.Uint16(ip[4:]),
		DF:  frag&0x4000 != 0,
		Src: netip.AddrFrom4([4]byte(ip[12:])), Dst: netip.AddrFrom4([4]byte(ip[16:]))}
	p := &f.Packet
	p.Opcode = UDP
	if ip[9] == protoTCP {
		p.Opcode = TCP
	}
	p.IP = IP{ID: f.ID, Fragment: Fragment(frag) & (fragmentOffset | moreFragments)}
	if p.IP.Fragment.First() {
		f.SrcPort, f.DstPort = be.Uint16(b[off:]), be.Uint16(b[off+2:])
	}
	if p.Len = end - off; p.Len > 0 {
		p.Payload = b[off:end:end]
	}
	return nil
}

// OverIP returns the offset and length of the UDP datagram, its fragment, or the TCP segment in a frame that DecodeAny
// reads as UDP or TCP; ok is false for all others.
func OverIP(frame []byte) (off, n int, ok bool) {
	off, end, ok := overIP(frame)
	return off, end - off, ok
}

// overIP finds the data after the IPv4 header in an untagged frame that belongs to an iWARP run.
func overIP(b []byte) (off, end int, ok bool) {
	const off4 = ethLen + ipv4Len
	if len(b) < off4 || binary.BigEndian.Uint16(b[12:]) != etherIPv4 || b[ethLen] != 0x45 {
		return 0, 0, false
	}
	ip := b[ethLen:]
	total, frag := int(binary.BigEndian.Uint16(ip[2:])), binary.BigEndian.Uint16(ip[6:])
	if total < ipv4Len || total > len(ip) || ip[9] != protoUDP && ip[9] != protoTCP {
		return 0, 0, false
	}
	if frag&0x1FFF != 0 {
		return off4, ethLen + total, true
	}
	if total < ipv4Len+udpLen {
		return 0, 0, false
	}
	l4 := ip[ipv4Len:]
	src, dst := binary.BigEndian.Uint16(l4), binary.BigEndian.Uint16(l4[2:])
	return off4, ethLen + total, dst == PortIWARP || src == PortIWARP && dst != Port
}

// tcpHeader is the minimum length of a TCP header, and tcpChecksum the offset of its checksum (RFC 9293).
const (
	tcpHeader   = 20
	tcpChecksum = 16
)

// TCPChecksumOK reports whether a TCP segment, a frame that DecodeAny reads, carries the right checksum.
func TCPChecksumOK(frame []byte) bool {
	off, n, ok := OverIP(frame)
	return ok && n >= tcpHeader && ^fold(tcpSum(frame[ethLen:off+n])) == 0
}

// MendTCP recomputes the checksum of a TCP segment, a frame that DecodeAny reads.
func MendTCP(frame []byte) {
	if off, n, ok := OverIP(frame); ok {
		putTCPChecksum(frame[ethLen : off+n])
	}
}

// TCPData returns the offset and length of the data of a TCP segment in a frame that DecodeAny reads as one; ok is
// false for other frames.
func TCPData(frame []byte) (off, n int, ok bool) {
	off, n, ok = OverIP(frame)
	if !ok || frame[ethLen+9] != protoTCP || n < tcpHeader {
		return 0, 0, false
	}
	head := int(frame[off+12]>>4) * 4
	if head < tcpHeader || head > n {
		return 0, 0, false
	}
	return off + head, n - head, true
}

// putTCPChecksum fills in the checksum of an unfragmented segment.
func putTCPChecksum(ip []byte) {
	if len(ip) < ipv4Len+tcpHeader {
		return
	}
	at := ip[ipv4Len+tcpChecksum:]
	at[0], at[1] = 0, 0
	binary.LittleEndian.PutUint16(at, ^fold(tcpSum(ip)))
}

// tcpSum adds up a segment with its pseudo header: addresses, protocol and length.
func tcpSum(ip []byte) uint64 {
	pseudo := uint64(bits.ReverseBytes16(protoTCP)) + uint64(bits.ReverseBytes16(uint16(len(ip)-ipv4Len)))
	return sum32(sum32(pseudo, ip[12:ipv4Len]), ip[ipv4Len:])
}
