package capture

import (
	"encoding/binary"
	"fmt"
)

// EtherTypes, IP protocols and UDP ports of what carries frames.
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

// nesting bounds the headers that are taken off a frame.
const nesting = 16

// layer is a part of a frame, and the EtherType of what it is.
type layer struct {
	kind uint16
	data []byte
	cut  int    // bytes that its length announces and the capture has not
	by   string // the outermost tunnel; "" for none
	llc  bool   // behind a header of LLC
}

// unwrap looks in tunnels for the innermost packet, of a frame of which the capture lacks some bytes. The result is as
// far as it got, and the Ethernet frame around it; nil where it has none of its own.
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
	if _, carried, ok := p.ip(); ok && p.by != "" { // a mirror may cut what it sends
		p.cut = max(p.cut, carried.cut)
	}
	return p, around
}

// open takes off the next header, or for an IP packet those up to the next packet that it carries; ok is false where
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

// frame takes off an Ethernet header with its VLAN tags, or with those of LLC and SNAP, when it holds what may be a
// tunnel.
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

// snap is a header of LLC and SNAP before an EtherType (RFC 1042).
const snap = "\xAA\xAA\x03\x00\x00\x00"

// labels takes off a stack of MPLS labels. What is below does not say what it is: a packet of IP shows by its version,
// and else it is an Ethernet frame, behind a control word perhaps (RFC 4385, 4448).
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

// isPacket reports an EtherType behind which a packet for us may be.
func isPacket(kind uint16) bool {
	return kind == etherIPv4 || kind == etherIPv6 || kind == etherMPLS || isTag(kind)
}

// ip takes off an IP header with its options, and returns what it carries without what is behind the packet; cut is
// what is missing of it. ok is false for fragments, of which nobody has the whole, and for what is malformed.
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

// carried is what an IP packet carries, when that is another packet.
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

// gre takes off the header of GRE (RFC 2784, 2890); with a key that is NVGRE as well. Of ERSPAN, type I has no sequence
// number and no header of its own, type II has both.
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

// span3 takes off the header of ERSPAN type III, which says whether more of it follows.
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

// udp takes off the header of UDP and that of what its port says.
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

// what names a packet that is not for us: "TCP", "ARP", "UDP port 53".
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

// transport names what an IP packet carries.
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
