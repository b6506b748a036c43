package capture

import (
	"encoding/binary"
	"fmt"
	"net/netip"
)

// EtherTypes, IP protocols and UDP ports of tunnels.
const (
	etherLen    = 14
	etherIPv4   = 0x0800
	etherIPv6   = 0x86DD
	etherVLAN   = 0x8100
	etherMPLS   = 0x8847
	etherMPLSMC = 0x8848
	etherFrame  = 0x6558 // transparent Ethernet bridging (RFC 1701): an Ethernet frame
	etherSpan   = 0x88BE // ERSPAN types I and II
	etherSpan3  = 0x22EB // ERSPAN type III

	protoIPv4, protoTCP, protoUDP, protoIPv6, protoGRE = 4, 6, 17, 41, 47

	portVXLAN, portVXLANLinux, portVXLANGPE, portGeneve, portMPLS = 4789, 8472, 4790, 6081, 6635
)

// nesting bounds the headers that are removed from a frame.
const nesting = 16

// layer is the rest of a frame after some of its headers, and the EtherType of that rest.
type layer struct {
	kind uint16
	data []byte
	cut  int    // bytes that its length field announces and the capture lacks
	by   string // name of the outermost tunnel; "" for none
	llc  bool   // it follows an LLC header
}

// unwrap removes the tunnels of a frame, of which the capture lacks missing bytes, down to the innermost packet that it
// can decode. It returns that packet and the Ethernet frame around it; nil when the packet has no Ethernet header.
func unwrap(frame []byte, missing int) (p layer, around []byte) {
	p = layer{kind: etherFrame, data: frame, cut: missing}
	for range nesting {
		inner, ok := p.open()
		if !ok {
			break
		}
		if around = nil; p.kind == etherFrame && !inner.llc {
			around = p.data
		}
		if inner.by == "" || p.by != "" {
			inner.by = p.by
		}
		inner.cut = max(inner.cut, p.cut)
		p = inner
	}
	if _, carried, ok := p.ip(); ok && p.by != "" { // a mirror may truncate frames
		p.cut = max(p.cut, carried.cut)
	}
	return p, around
}

// open removes the next header or, for an IP packet, the headers up to the packet that it carries; ok is false when
// there is none.
func (p *layer) open() (inner layer, ok bool) {
	switch p.kind {
	case etherFrame:
		return p.frame()
	case etherMPLS, etherMPLSMC:
		return p.labels()
	case etherIPv4, etherIPv6:
		proto, carried, ok := p.ip()
		if !ok {
			return layer{}, false
		}
		return carried.carried(proto)
	case etherSpan:
		return layer{kind: etherFrame, data: p.data, by: "ERSPAN"}, true
	case etherSpan3:
		return p.span3()
	}
	return layer{}, false
}

// frame removes an Ethernet header with its VLAN tags, or with its LLC and SNAP headers.
func (p *layer) frame() (inner layer, ok bool) {
	at := etherLen - 2
	for len(p.data) >= at+6 && isTag(binary.BigEndian.Uint16(p.data[at:])) {
		at += 4
	}
	if len(p.data) < at+2 {
		return layer{}, false
	}
	inner = layer{kind: binary.BigEndian.Uint16(p.data[at:]), data: p.data[at+2:]}
	if b := inner.data; inner.kind < 0x600 && len(b) >= 8 && string(b[:6]) == snap {
		inner.kind, inner.data, inner.llc = binary.BigEndian.Uint16(b[6:]), b[8:], true
	}
	return inner, true
}

// snap is the LLC and SNAP header before an EtherType (RFC 1042).
const snap = "\xAA\xAA\x03\x00\x00\x00"

// labels removes a stack of MPLS labels. MPLS does not give the type of its payload: an IP packet is recognised by its
// version, and anything else is an Ethernet frame, perhaps after a control word (RFC 4385, 4448).
func (p *layer) labels() (inner layer, ok bool) {
	b := p.data
	for bottom := false; !bottom; b = b[4:] {
		if len(b) < 4+20 {
			return layer{}, false
		}
		bottom = b[2]&1 != 0
	}
	inner = layer{kind: etherFrame, data: b, by: "MPLS"}
	switch {
	case b[0] == 0x45:
		inner.kind = etherIPv4
	case b[0]>>4 == 6 && b[6] == protoUDP:
		inner.kind = etherIPv6
	case b[0]>>4 == 0 && isPacket(binary.BigEndian.Uint16(b[4+etherLen-2:])):
		inner.data = b[4:]
	}
	return inner, true
}

// isPacket reports whether a RoCEv2 packet may follow an EtherType.
func isPacket(kind uint16) bool {
	return kind == etherIPv4 || kind == etherIPv6 || kind == etherMPLS || isTag(kind)
}

// ip removes an IP header with its options, and returns the payload without bytes after the packet; cut is the number
// of its missing bytes. ok is false for fragments, which are incomplete, and for malformed packets.
func (p *layer) ip() (proto byte, carried layer, ok bool) {
	b := p.data
	var from, total int
	switch {
	case p.kind == etherIPv4 && len(b) >= 20 && b[0]>>4 == 4:
		if proto = b[9]; binary.BigEndian.Uint16(b[6:])&0x3FFF != 0 {
			return proto, layer{}, false
		}
		from, total = int(b[0]&15)*4, int(binary.BigEndian.Uint16(b[2:]))
	case p.kind == etherIPv6 && len(b) >= 40 && b[0]>>4 == 6:
		proto, from, total = b[6], 40, 40+int(binary.BigEndian.Uint16(b[4:]))
		for (proto == 0 || proto == 43 || proto == 60) && from+8 <= len(b) { // hop-by-hop, routing, destination options
			proto, from = b[from], from+8+8*int(b[from+1])
		}
	default:
		return 0, layer{}, false
	}
	if from < 20 || from > total || from > len(b) {
		return proto, layer{}, false
	}
	return proto, layer{data: b[from:min(total, len(b))], cut: max(0, total-len(b))}, true
}

// sender returns the source address of an IP packet that ip can decode.
func (p *layer) sender() netip.Addr {
	if p.kind == etherIPv4 {
		return netip.AddrFrom4([4]byte(p.data[12:]))
	}
	return netip.AddrFrom16([16]byte(p.data[8:]))
}

// carried returns the packet or frame that an IP packet carries as a tunnel.
func (p *layer) carried(proto byte) (inner layer, ok bool) {
	switch proto {
	case protoIPv4:
		return layer{kind: etherIPv4, data: p.data, cut: p.cut, by: "IP-in-IP"}, true
	case protoIPv6:
		return layer{kind: etherIPv6, data: p.data, cut: p.cut, by: "IP-in-IP"}, true
	case protoGRE:
		inner, ok = p.gre()
	case protoUDP:
		inner, ok = p.udp()
	}
	inner.cut = p.cut
	return inner, ok
}

// gre removes a GRE header (RFC 2784, 2890); GRE with a key covers NVGRE. ERSPAN type I has no sequence number and no
// header of its own, type II has both.
func (p *layer) gre() (inner layer, ok bool) {
	if len(p.data) < 4 || p.data[1]&7 != 0 {
		return layer{}, false
	}
	skip := 4
	for _, flag := range []byte{0x80, 0x20, 0x10} { // checksum, key, sequence number
		if p.data[0]&flag != 0 {
			skip += 4
		}
	}
	inner = layer{kind: binary.BigEndian.Uint16(p.data[2:]), by: "GRE"}
	if inner.kind == etherSpan && p.data[0]&0x10 != 0 {
		skip += 8
	}
	if len(p.data) < skip {
		return layer{}, false
	}
	if inner.kind == etherSpan || inner.kind == etherSpan3 {
		inner.by = "ERSPAN"
	}
	inner.data = p.data[skip:]
	return inner, true
}

// span3 removes the header of ERSPAN type III, which has a flag for an optional subheader.
func (p *layer) span3() (inner layer, ok bool) {
	skip := 12
	if len(p.data) >= skip && p.data[11]&1 != 0 {
		skip += 8
	}
	if len(p.data) < skip {
		return layer{}, false
	}
	return layer{kind: etherFrame, data: p.data[skip:]}, true
}

// udp removes a UDP header and the header of the tunnel that its port identifies.
func (p *layer) udp() (inner layer, ok bool) {
	b := p.data
	if len(b) < 8+8 {
		return layer{}, false
	}
	port, h := binary.BigEndian.Uint16(b[2:]), b[8:]
	inner = layer{kind: etherFrame, by: "VXLAN"}
	skip := 8
	switch {
	case (port == portVXLAN || port == portVXLANLinux) && h[0]&8 != 0:
	case port == portVXLANGPE && h[0]&12 == 12: // its next protocol (RFC draft-ietf-nvo3-vxlan-gpe)
		kinds := [...]uint16{0, etherIPv4, etherIPv6, etherFrame, 0, etherMPLS}
		if int(h[3]) >= len(kinds) || kinds[h[3]] == 0 {
			return layer{}, false
		}
		inner.kind = kinds[h[3]]
	case port == portGeneve && h[0]>>6 == 0:
		skip += int(h[0]&0x3F) * 4
		inner.kind, inner.by = binary.BigEndian.Uint16(h[2:]), "Geneve"
	case port == portMPLS:
		skip, inner.kind, inner.by = 0, etherMPLS, "MPLS"
	default:
		return layer{}, false
	}
	if len(h) < skip {
		return layer{}, false
	}
	inner.data = h[skip:]
	return inner, true
}

// what returns the protocol of a foreign packet: "TCP", "ARP", "UDP".
func (p *layer) what() string {
	switch p.kind {
	case etherIPv4, etherIPv6:
		return p.transport()
	case 0x0806:
		return "ARP"
	case 0x8915:
		return "RoCEv1"
	case 0x88CC:
		return "LLDP"
	case 0x8808:
		return "Ethernet flow control"
	case etherFrame:
		return "too short"
	}
	if p.kind < 0x600 {
		return "LLC"
	}
	return fmt.Sprintf("EtherType 0x%04x", p.kind)
}

// transport returns the name of the protocol that an IP packet carries.
func (p *layer) transport() string {
	proto, carried, ok := p.ip()
	switch {
	case !ok && proto == 0:
		return "malformed IP"
	case !ok:
		return "IP fragments"
	case proto == protoUDP && len(carried.data) >= 4:
		switch port := binary.BigEndian.Uint16(carried.data[2:]); port {
		case portVXLAN, portVXLANLinux, portVXLANGPE, portGeneve, portMPLS:
			return "tunnels that do not decode"
		}
		return "UDP"
	case proto == protoTCP:
		return "TCP"
	case proto == 1, proto == 58:
		return "ICMP"
	case proto == 2:
		return "IGMP"
	}
	return fmt.Sprintf("IP protocol %d", proto)
}
