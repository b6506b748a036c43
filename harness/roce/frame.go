package roce

import (
	"encoding/binary"
	"net/netip"
	"slices"
)

// Lengths in bytes of the headers below the transport, and of the layer 1 framing around a frame.
const (
	ethLen   = 14
	vlanLen  = 4
	ipv4Len  = 20
	ipv6Len  = 40
	udpLen   = 8
	fcsLen   = 4
	minFrame = 64     // shortest Ethernet frame, FCS included (IEEE 802.3)
	overhead = 8 + 12 // preamble with start delimiter, and inter-frame gap
)

// Overhead is the number of bytes that a packet occupies at layer 1 beside its payload, when the BTH is its only
// transport header and it crosses IPv4 without VLAN: preamble, start delimiter and gap 20, Ethernet 14, IP 20, UDP 8,
// BTH 12, ICRC 4, FCS 4. A full packet in the middle of a message is such a packet.
const Overhead = overhead + ethLen + ipv4Len + udpLen + bthLen + icrcLen + fcsLen

const (
	etherIPv4 = 0x0800
	etherIPv6 = 0x86DD
	etherVLAN = 0x8100
	protoTCP  = 6
	protoUDP  = 17
)

// Frame is a Packet as it crosses a link: Ethernet, an optional VLAN tag, IPv4 or IPv6, UDP, and the packet. The frame
// is IPv6 when either address is; a packet without BTH, UDP or TCP, crosses IPv4 only. The FCS belongs to the link and
// is not represented.
type Frame struct {
	DstMAC, SrcMAC [6]byte
	VLAN           uint16 // tag control information: priority 3 bits, drop eligible 1, VLAN ID 12
	HasVLAN        bool
	Src, Dst       netip.Addr
	TOS            uint8  // IPv4 TOS or IPv6 traffic class, ECN in the low two bits
	TTL            uint8  // time to live or hop limit
	ID             uint16 // IPv4 identification
	DF             bool   // IPv4 don't fragment, which RoCEv2 sets
	FlowLabel      uint32 // IPv6, 20 bits
	SrcPort        uint16 // UDP source port: entropy for equal-cost paths, constant for a QP
	DstPort        uint16 // UDP destination port; the encoder writes zero as Port
	Packet         Packet
}

func (f *Frame) isIPv6() bool {
	return (f.Src.Is6() || f.Dst.Is6()) && !f.Packet.Opcode.OverIP()
}

// l3 returns the offset of the IP header.
func (f *Frame) l3() int {
	if f.HasVLAN {
		return ethLen + vlanLen
	}
	return ethLen
}

// l4 returns the offset of the UDP header.
func (f *Frame) l4() int {
	if f.isIPv6() {
		return f.l3() + ipv6Len
	}
	return f.l3() + ipv4Len
}

// Len returns the number of bytes that AppendTo writes.
func (f *Frame) Len() int {
	if f.Packet.Opcode.OverIP() {
		return f.l3() + ipv4Len + min(f.Packet.TransportLen(), maxIPPayload)
	}
	return f.l4() + udpLen + f.Packet.TransportLen() + icrcLen
}

// HeadLen returns the number of bytes of a RoCEv2 frame before the payload.
func (f *Frame) HeadLen() int { return f.l4() + udpLen + f.Packet.sizes().header }

// SumsPayload reports whether the UDP checksum of the frame, of which b is the bytes, is one that its sender must make
// over the payload: that of IPv6, unless it is left out.
func (f *Frame) SumsPayload(b []byte) bool {
	at := f.l4() + 6
	return f.isIPv6() && b[at]|b[at+1] != 0
}

// WireLen returns the number of bytes that the frame occupies at layer 1: Len, FCS, preamble and inter-frame gap, and
// at least those of the shortest Ethernet frame.
func (f *Frame) WireLen() int { return wireLen(f.Len()) }

// WireLen returns Frame.WireLen of this packet in a frame without VLAN tag: the size from which links compute
// transmission time.
func (p *Packet) WireLen(ipv6 bool) int {
	ip := ipv4Len
	if ipv6 {
		ip = ipv6Len
	}
	if p.Opcode.OverIP() {
		return wireLen(ethLen + ipv4Len + p.TransportLen())
	}
	return wireLen(ethLen + ip + udpLen + p.TransportLen() + icrcLen)
}

func wireLen(frame int) int { return max(frame+fcsLen, minFrame) + overhead }

// AppendTo appends the frame from the Ethernet header to the ICRC and allocates only when b lacks room. The encoder
// computes padding, lengths, the IPv4 checksum, the UDP checksum (zero on IPv4) and the ICRC.
func (f *Frame) AppendTo(b []byte) []byte {
	if f.Packet.Opcode.OverIP() {
		return f.appendOverIP(b)
	}
	b, out, at := f.appendOpen(b)
	putICRC(out, at)
	if at.v6 {
		putUDPChecksum(out[at.l3:], ipv6Len)
	}
	return b
}

// AppendSummed appends the frame as AppendTo does, and also returns the CRC-32 of the payload, 0 when there is none.
// The packet must be RoCEv2.
func (f *Frame) AppendSummed(b []byte) (whole []byte, payload uint32) {
	b, out, at := f.appendOpen(b)
	size := f.Packet.sizes()
	end := at.end - icrcLen - size.pad
	head := out[at.l3 : end-size.payload]
	payload = payloadSum(out[end-size.payload : end])
	if full := fullOf(&f.Packet); full != nil && size.payload == f.Packet.Len && size.pad == 0 {
		binary.LittleEndian.PutUint32(out[at.end-icrcLen:], payload^full.of(invariant(head, at.v6)))
	} else {
		putICRC(out, at)
	}
	if at.v6 {
		putUDPChecksum(out[at.l3:], ipv6Len)
	}
	return b, payload
}

// appendOpen appends the frame of a packet with a BTH, its ICRC and UDP checksum left out; out is the new frame alone.
func (f *Frame) appendOpen(b []byte) (whole, out []byte, at span) {
	size := f.Packet.sizes()
	at = span{l3: f.l3(), l4: f.l4(), v6: f.isIPv6()}
	at.end = at.l4 + udpLen + size.total() + icrcLen
	b, out = extend(b, at.end)
	f.putBelow(out, at)
	f.Packet.putTransport(out[at.l4+udpLen:at.end-icrcLen], size)
	return b, out, at
}

// MaxHead is an upper bound for the length of a frame's headers in bytes, up to the payload.
const MaxHead = 256

// AppendHead appends the headers that AppendTo writes, up to the payload, with a UDP checksum of zero.
func (f *Frame) AppendHead(b []byte) []byte {
	size := f.Packet.sizes()
	at := span{l3: f.l3(), l4: f.l4(), v6: f.isIPv6()}
	at.end = at.l4 + udpLen + size.total() + icrcLen
	b, out := extend(b, at.l4+udpLen+size.header)
	f.putBelow(out, at)
	f.Packet.putHead(out[at.l4+udpLen:], size)
	return b
}

// putBelow writes the headers below the transport, with a UDP checksum of zero.
func (f *Frame) putBelow(b []byte, at span) {
	f.putEthernet(b)
	if at.v6 {
		f.putIPv6(b[at.l3:], at.end-at.l3)
	} else {
		f.putIPv4(b[at.l3:], at.end-at.l3)
	}
	f.putUDP(b[at.l4:], at.end-at.l4)
}

// putEthernet writes the link header; with a VLAN tag the EtherType moves back by four bytes (IEEE 802.1Q).
func (f *Frame) putEthernet(b []byte) {
	*(*[6]byte)(b), *(*[6]byte)(b[6:]) = f.DstMAC, f.SrcMAC
	if f.HasVLAN {
		binary.BigEndian.PutUint16(b[12:], etherVLAN)
		binary.BigEndian.PutUint16(b[14:], f.VLAN)
		b = b[vlanLen:]
	}
	kind := uint16(etherIPv4)
	if f.isIPv6() {
		kind = etherIPv6
	}
	binary.BigEndian.PutUint16(b[12:], kind)
}

// putIPv4 writes the header of a packet of n bytes. The checksum is computed from the words before they are stored,
// because reading them back at once would wait for the stores. RFC 1071 lets words of 32 bits be summed and folded at
// the end.
func (f *Frame) putIPv4(b []byte, n int) {
	be := binary.BigEndian
	src, dst := as4(f.Src), as4(f.Dst)
	w0 := 0x45<<24 | uint32(f.TOS)<<16 | uint32(uint16(n))
	w1 := uint32(f.id())<<16 | f.fragmentWord()
	w2 := uint32(f.TTL)<<24 | uint32(f.protocol())<<16
	w3, w4 := be.Uint32(src[:]), be.Uint32(dst[:])
	w2 |= uint32(^fold(uint64(w0) + uint64(w1) + uint64(w2) + uint64(w3) + uint64(w4)))
	be.PutUint32(b, w0)
	be.PutUint32(b[4:], w1)
	be.PutUint32(b[8:], w2)
	be.PutUint32(b[12:], w3)
	be.PutUint32(b[16:], w4)
}

// as4 is Addr.As4, but returns 0.0.0.0 for an address that is not IPv4, for which As4 panics.
func as4(a netip.Addr) [4]byte {
	if !a.Is4() && !a.Is4In6() {
		return [4]byte{}
	}
	return a.As4()
}

// putIPv6 writes the header of a packet of n bytes.
func (f *Frame) putIPv6(b []byte, n int) {
	binary.BigEndian.PutUint32(b, 6<<28|uint32(f.TOS)<<20|f.FlowLabel&0xFFFFF)
	binary.BigEndian.PutUint16(b[4:], uint16(n-ipv6Len))
	b[6], b[7] = protoUDP, f.TTL
	src, dst := f.Src.As16(), f.Dst.As16()
	copy(b[8:], src[:])
	copy(b[24:], dst[:])
}

// putUDP writes the header of a datagram of n bytes without a checksum. IPv4 needs none, since the ICRC covers more;
// for IPv6 the caller adds it once the rest of the packet is written.
func (f *Frame) putUDP(b []byte, n int) {
	port := f.DstPort
	if port == 0 {
		port = Port
	}
	binary.BigEndian.PutUint16(b, f.SrcPort)
	binary.BigEndian.PutUint16(b[2:], port)
	binary.BigEndian.PutUint16(b[4:], uint16(n))
	binary.BigEndian.PutUint16(b[6:], 0)
}

// Decode reads a frame from the Ethernet header on. It allocates nothing; Packet.Payload aliases b. Bytes after the end
// of the IP packet are Ethernet padding and ignored. Checksums and ICRC are not verified: see ICRCOK.
//
// Errors are *FieldError. ErrNotRoCE marks traffic other than RoCEv2; after ErrUnknownOpcode the BTH is filled in.
func (f *Frame) Decode(b []byte) error {
	*f = Frame{}
	if len(b) < ethLen {
		return bad("ethernet", ErrTruncated, len(b), ethLen)
	}
	f.DstMAC, f.SrcMAC = [6]byte(b), [6]byte(b[6:])
	kind := binary.BigEndian.Uint16(b[12:])
	if kind == etherVLAN {
		if len(b) < ethLen+vlanLen {
			return bad("vlan", ErrTruncated, len(b)-ethLen, vlanLen)
		}
		f.HasVLAN, f.VLAN = true, binary.BigEndian.Uint16(b[14:])
		kind = binary.BigEndian.Uint16(b[16:])
	}
	var udp []byte
	var err error
	switch kind {
	case etherIPv4:
		udp, err = f.getIPv4(b[f.l3():])
	case etherIPv6:
		udp, err = f.getIPv6(b[f.l3():])
	default:
		return bad("ethertype", ErrNotRoCE, int(kind), etherIPv4)
	}
	if err != nil {
		return err
	}
	return f.getUDP(udp)
}

// getIPv4 reads the header and returns what the packet carries. RoCEv2 has neither options nor fragments (annex A17).
func (f *Frame) getIPv4(b []byte) ([]byte, error) {
	if len(b) < ipv4Len {
		return nil, bad("ip", ErrTruncated, len(b), ipv4Len)
	}
	be := binary.BigEndian
	total, frag := int(be.Uint16(b[2:])), be.Uint16(b[6:])
	if b[0]>>4 == 4 { // the addresses are filled in whatever else is wrong
		f.Src, f.Dst = netip.AddrFrom4([4]byte(b[12:])), netip.AddrFrom4([4]byte(b[16:]))
	}
	switch {
	case b[0]>>4 != 4:
		return nil, bad("ip version", ErrMalformed, int(b[0]>>4), 4)
	case b[9] != protoUDP:
		return nil, bad("ip protocol", ErrNotRoCE, int(b[9]), protoUDP)
	case b[0] != 0x45:
		return nil, bad("ip header length", ErrMalformed, int(b[0]&15)*4, ipv4Len)
	case total > len(b) || total < ipv4Len:
		return nil, bad("ip length", ErrLength, total, len(b))
	case frag&0x3FFF != 0:
		return nil, bad("ip fragment", ErrMalformed, int(frag&0x3FFF), 0)
	}
	f.TOS, f.TTL = b[1], b[8]
	f.ID, f.DF = be.Uint16(b[4:]), b[6]&0x40 != 0
	return b[ipv4Len:total], nil
}

// getIPv6 reads the header and returns what the packet carries; UDP must follow without extension headers.
func (f *Frame) getIPv6(b []byte) ([]byte, error) {
	if len(b) < ipv6Len {
		return nil, bad("ip", ErrTruncated, len(b), ipv6Len)
	}
	word, n := binary.BigEndian.Uint32(b), int(binary.BigEndian.Uint16(b[4:]))
	switch {
	case word>>28 != 6:
		return nil, bad("ip version", ErrMalformed, int(word>>28), 6)
	case b[6] != protoUDP:
		return nil, bad("ip protocol", ErrNotRoCE, int(b[6]), protoUDP)
	case n > len(b)-ipv6Len:
		return nil, bad("ip length", ErrLength, n, len(b)-ipv6Len)
	}
	f.TOS, f.TTL, f.FlowLabel = uint8(word>>20), b[7], word&0xFFFFF
	f.Src, f.Dst = netip.AddrFrom16([16]byte(b[8:])), netip.AddrFrom16([16]byte(b[24:]))
	return b[ipv6Len : ipv6Len+n], nil
}

// getUDP reads the UDP header and the packet. The port is checked before the length, because the length of other
// traffic does not matter here.
func (f *Frame) getUDP(b []byte) error {
	if len(b) < udpLen {
		return bad("udp", ErrTruncated, len(b), udpLen)
	}
	f.SrcPort, f.DstPort = binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])
	if f.DstPort != Port {
		return bad("udp destination port", ErrNotRoCE, int(f.DstPort), Port)
	}
	if n := int(binary.BigEndian.Uint16(b[4:])); n != len(b) {
		return bad("udp length", ErrLength, n, len(b))
	}
	return f.Packet.decode(b[udpLen:], icrcLen)
}

// extend lengthens b by n bytes and returns it with the new part.
func extend(b []byte, n int) (whole, added []byte) {
	b = slices.Grow(b, n)
	whole = b[:len(b)+n]
	return whole, whole[len(b):]
}
