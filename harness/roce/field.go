package roce

import (
	"encoding/binary"
	"math"
	"math/bits"
	"net/netip"
)

// wordLen is the minimum length of a transport packet in bytes, its ICRC excluded. With the ICRC's four bytes after it,
// callers may index byte 4, the type of a LoWAR packet, without a check.
const wordLen = 4

// span holds the offsets of a frame's layers.
type span struct {
	l3, l4 int  // offsets of the IP and UDP headers
	end    int  // offset after the ICRC
	v6     bool // IPv6
}

// locate finds the layers of a UDP frame. It validates nothing else, because callers also pass frames that were damaged
// on purpose.
func locate(frame []byte) (span, bool) {
	if len(frame) >= ethLen+vlanLen && binary.BigEndian.Uint16(frame[12:]) == etherVLAN {
		return locateIP(frame, ethLen+vlanLen)
	}
	return locateIP(frame, ethLen)
}

// locateIP is locate for a known offset of the IP header. The packet ends where the IP length says, or at the end of
// the frame when that length is impossible.
func locateIP(frame []byte, l3 int) (s span, ok bool) {
	if len(frame) < l3+ipv4Len+udpLen+wordLen+icrcLen {
		return s, false
	}
	kind := binary.BigEndian.Uint16(frame[l3-2:])
	ip := frame[l3:]
	proto := ip[9]
	s = span{l3: l3, l4: l3 + ipv4Len, end: l3 + int(binary.BigEndian.Uint16(ip[2:]))}
	switch {
	case kind == etherIPv4 && ip[0] == 0x45:
	case kind == etherIPv6 && ip[0]>>4 == 6:
		proto = ip[6]
		s = span{l3: l3, l4: l3 + ipv6Len, end: l3 + ipv6Len + int(binary.BigEndian.Uint16(ip[4:])), v6: true}
	default:
		return s, false
	}
	least := s.l4 + udpLen + wordLen + icrcLen
	if s.end > len(frame) || s.end < least {
		s.end = len(frame)
	}
	return s, proto == protoUDP && s.end >= least
}

// Source returns the address of the IP header; ok is false for a frame without UDP or TCP.
func Source(frame []byte) (a netip.Addr, ok bool) {
	if _, _, ok := overIP(frame); ok {
		return netip.AddrFrom4([4]byte(frame[ethLen+12:])), true
	}
	switch at, ok := locate(frame); {
	case !ok:
		return a, false
	case at.v6:
		return netip.AddrFrom16([16]byte(frame[at.l3+8:])), true
	default:
		return netip.AddrFrom4([4]byte(frame[at.l3+12:])), true
	}
}

// DestinationPort returns the destination port of a UDP frame; ok is false for other frames.
func DestinationPort(frame []byte) (port uint16, ok bool) {
	at, ok := locate(frame)
	if !ok {
		return 0, false
	}
	return binary.BigEndian.Uint16(frame[at.l4+2:]), true
}

// ToAnotherPort reports whether a frame is a RoCEv2 packet in all but its UDP destination port: what follows the UDP
// header ends with the right ICRC, which covers that port, so that no router has changed it.
func ToAnotherPort(frame []byte) bool {
	at, ok := locate(frame)
	if !ok || at.end < at.l4+udpLen+bthLen+icrcLen || binary.BigEndian.Uint16(frame[at.l4+2:]) == Port {
		return false
	}
	return at.sealed(frame)
}

// anchor is the header from whose start the offset of a field counts.
type anchor uint8

const (
	inTransport anchor = iota
	inIPv4
	inIPv6
	inUDP
)

// field describes a named field of a frame. header, for a field in the transport, is the bit of the header that holds
// it.
type field struct {
	name   string
	in     anchor
	header Layout
	off, n int
}

// fields lists the fields that FieldSpan knows, besides payload and icrc. A name has one row for each header that holds
// it.
var fields = []field{
	{"tos", inIPv4, 0, 1, 1}, {"ttl", inIPv4, 0, 8, 1}, {"iplen", inIPv4, 0, 2, 2},
	{"ipsrc", inIPv4, 0, 12, 4}, {"ipsrc", inIPv6, 0, 8, 16},
	{"tos", inIPv6, 0, 0, 2}, {"ttl", inIPv6, 0, 7, 1}, {"iplen", inIPv6, 0, 4, 2},
	{"udpsport", inUDP, 0, 0, 2}, {"udpdport", inUDP, 0, 2, 2}, {"udplen", inUDP, 0, 4, 2},
	{"opcode", inTransport, LayoutBTH, 0, 1}, {"opcode", inTransport, LayoutRepair, 0, 1},
	{"flags", inTransport, LayoutBTH, 1, 1}, {"pkey", inTransport, LayoutBTH, 2, 2},
	{"destqp", inTransport, LayoutBTH, 5, 3}, {"destqp", inTransport, LayoutRepair, 1, 3},
	{"ackreq", inTransport, LayoutBTH, 8, 1}, {"psn", inTransport, LayoutBTH, 9, 3},
	{"qkey", inTransport, LayoutDETH, 0, 4}, {"srcqp", inTransport, LayoutDETH, 5, 3},
	{"va", inTransport, LayoutRETH, 0, 8}, {"va", inTransport, LayoutVAETH, 0, 8},
	{"va", inTransport, LayoutAtomicETH, 0, 8},
	{"rkey", inTransport, LayoutRETH, 8, 4}, {"rkey", inTransport, LayoutAtomicETH, 8, 4},
	{"dmalen", inTransport, LayoutRETH, 12, 4},
	{"swapadd", inTransport, LayoutAtomicETH, 12, 8}, {"compare", inTransport, LayoutAtomicETH, 20, 8},
	{"syndrome", inTransport, LayoutAETH, 0, 1}, {"msn", inTransport, LayoutAETH, 1, 3},
	{"result", inTransport, LayoutAtomicAckETH, 0, 8},
	{"lost", inTransport, LayoutSACKETH, 0, 1}, {"sack", inTransport, LayoutSACKETH, 1, 3},
	{"sn", inTransport, LayoutSOETH, 1, 3}, {"off", inTransport, LayoutSOETH, 4, 4},
	{"type", inTransport, LayoutRepair, 4, 1}, {"isn", inTransport, LayoutRepair, 6, 1},
	{"c", inTransport, LayoutRepair, 7, 1},
	{"r", inTransport, LayoutRepair, 8, 2}, {"n", inTransport, LayoutRepair, 10, 2},
	{"epoch", inTransport, LayoutBlock, 0, 1}, {"bpsn", inTransport, LayoutBlock, 1, 3},
	{"lastlen", inTransport, LayoutXOR, 0, 2},
	{"xorlen", inTransport, LayoutXOR, 2, 2}, {"check", inTransport, LayoutXOR, 4, 4},
	{"imm", inTransport, LayoutImm, 0, 4}, {"ikey", inTransport, LayoutIETH, 0, 4},
}

// FieldSpan returns the offset and the length of a field in a frame, for corruption by script and for edits by hand;
// Reseal makes the frame valid again. Names are those of the text form and opcode, flags (the byte of SE, MigReq, pad
// and TVer), pkey, destqp, ackreq (with its reserved bits), syndrome, payload (without padding), icrc, tos (in IPv6 the
// two bytes that hold the traffic class), ttl, iplen, ipsrc, udpsport, udpdport and udplen; in a LoWAR packet also
// type, isn, r, c, n, epoch, bpsn, lastlen, xorlen and check. ok is false when the frame has no such field.
//
// In a frame that only DecodeAny reads, the payload is everything after the IP header, and there is no ICRC.
func FieldSpan(frame []byte, name string) (off, n int, ok bool) {
	if off, n, ok = OverIP(frame); ok {
		return ipFieldSpan(off, n, name)
	}
	at, ok := locate(frame)
	if !ok {
		return 0, 0, false
	}
	ib := at.l4 + udpLen
	layout := layoutAt(frame[ib:])
	switch name {
	case "icrc":
		return at.end - icrcLen, icrcLen, true
	case "payload":
		return payloadSpan(frame, ib, at.end-icrcLen)
	}
	for i := range fields {
		if f := &fields[i]; f.name == name {
			if base, here := at.base(f, layout); here && base+f.off+f.n <= at.end-icrcLen {
				return base + f.off, f.n, true
			}
		}
	}
	return 0, 0, false
}

// ipFieldSpan is FieldSpan for a packet without BTH, whose named fields are the payload and those of the IPv4 header.
func ipFieldSpan(payload, n int, name string) (int, int, bool) {
	if name == "payload" {
		return payload, n, n > 0
	}
	for i := range fields {
		if f := &fields[i]; f.name == name && f.in == inIPv4 {
			return ethLen + f.off, f.n, true
		}
	}
	return 0, 0, false
}

// payloadSpan returns the bytes between the headers and the padding that the flags byte announces.
func payloadSpan(frame []byte, ib, end int) (off, n int, ok bool) {
	l := layoutAt(frame[ib:])
	off = ib + l.Len()
	n = end - off
	if l&LayoutBTH != 0 {
		n -= int(frame[ib+1] >> 4 & 3)
	}
	return off, max(n, 0), n > 0
}

// layoutAt returns the layout of the packet at the start of b.
func layoutAt(b []byte) Layout {
	if Opcode(b[0]) == LoWAR {
		return RepairType(b[4]).layout()
	}
	return Opcode(b[0]).Layout()
}

// base returns the offset from which the field counts in a packet of layout l; ok is false when the packet lacks its
// header.
func (s span) base(f *field, l Layout) (off int, ok bool) {
	switch f.in {
	case inIPv4:
		return s.l3, !s.v6
	case inIPv6:
		return s.l3, s.v6
	case inUDP:
		return s.l4, true
	}
	return s.l4 + udpLen + (l & (f.header - 1)).Len(), l&f.header != 0
}

// Reseal recomputes the ICRC, the IPv4 header checksum and, if the frame has one, the UDP checksum, after an edit. It
// returns false when the frame is not UDP over IP.
func Reseal(frame []byte) bool {
	if off, end, ok := overIP(frame); ok {
		resealOverIP(frame[ethLen:end], end-off)
		return true
	}
	at, ok := locate(frame)
	if !ok {
		return false
	}
	// The UDP checksum covers the ICRC and therefore comes last.
	putICRC(frame, at)
	ip := frame[at.l3:at.end]
	l4 := at.l4 - at.l3
	if !at.v6 {
		putIPv4Checksum(ip)
	}
	if at.v6 || ip[l4+6]|ip[l4+7] != 0 {
		putUDPChecksum(ip, l4)
	}
	return true
}

// resealOverIP is Reseal for a packet without BTH: the IPv4 header checksum, and the checksum of an unfragmented TCP
// segment.
func resealOverIP(ip []byte, n int) {
	putIPv4Checksum(ip)
	if whole := binary.BigEndian.Uint16(ip[6:])&0x3FFF == 0; whole && ip[9] == protoTCP && n >= tcpHeader {
		putTCPChecksum(ip)
	}
}

// putIPv4Checksum fills in the header checksum (RFC 791).
func putIPv4Checksum(ip []byte) {
	ip[10], ip[11] = 0, 0
	binary.LittleEndian.PutUint16(ip[10:], ^fold(sum32(0, ip[:ipv4Len])))
}

// putUDPChecksum fills in the UDP checksum with its pseudo header; a sum of zero is sent as all ones (RFC 768, 8200).
func putUDPChecksum(ip []byte, l4 int) {
	binary.BigEndian.PutUint16(ip[l4+6:], udpChecksum(ip, l4))
}

// UDPChecksum returns the checksum that the UDP datagram of an IPv6 packet should have.
func UDPChecksum(ip []byte) uint16 { return udpChecksum(ip, ipv6Len) }

// udpChecksum computes the checksum of a UDP datagram; it does not read the checksum field.
func udpChecksum(ip []byte, l4 int) uint16 {
	addrs := ip[12:ipv4Len]
	if l4 == ipv6Len {
		addrs = ip[8:ipv6Len]
	}
	pseudo := uint64(bits.ReverseBytes16(protoUDP)) + uint64(bits.ReverseBytes16(uint16(len(ip)-l4)))
	sum := sum32(sum32(pseudo, addrs), ip[l4:l4+6])
	check := ^fold(sum32(sum, ip[l4+udpLen:]))
	if check == 0 {
		check = 0xFFFF
	}
	return bits.ReverseBytes16(check)
}

// sum32 adds b to sum as little-endian words of 32 bits. The Internet checksum may be computed in any byte order and
// word size (RFC 1071); a packet is too short to overflow 64 bits.
func sum32(sum uint64, b []byte) uint64 {
	for len(b) >= 8 {
		x := binary.LittleEndian.Uint64(b)
		sum += x>>32 + x&math.MaxUint32
		b = b[8:]
	}
	for i, x := range b {
		sum += uint64(x) << (8 * (i & 3))
	}
	return sum
}

// fold reduces a ones'-complement sum to 16 bits.
func fold(sum uint64) uint16 {
	for sum > math.MaxUint16 {
		sum = sum>>16 + sum&math.MaxUint16
	}
	return uint16(sum)
}
