package wire

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
)

// notIP reports whether a frame is not IP, and its EtherType.
func notIP(raw []byte) (kind uint16, other bool) {
	const at, vlan = 12, 4
	if len(raw) < at+2 {
		return 0, false
	}
	if kind = binary.BigEndian.Uint16(raw[at:]); kind == 0x8100 && len(raw) >= at+vlan+2 {
		kind = binary.BigEndian.Uint16(raw[at+vlan:])
	}
	return kind, kind != 0x0800 && kind != 0x86DD
}

// total returns the length of an IP packet by its header.
func total(ip []byte) int {
	if ip[0]>>4 == 6 {
		return 40 + int(binary.BigEndian.Uint16(ip[4:]))
	}
	return int(binary.BigEndian.Uint16(ip[2:]))
}

// udpPort also judges frames that do not decode, because for the decoder another port is other traffic. A frame that is
// not IP has no port; endpoints send none, and those of a kernel are not captured.
var udpPort = rule.Rule{
	ID: "WIRE-UDP-001", Level: rule.Must, Rests: validity.Frames,
	Title:  "The UDP destination port is 4791 for every RoCEv2 packet",
	Source: rule.Source{Ref: "IBTA A17.3.1", Requirement: "RoCEv2 packets carry the well-known UDP destination port 4791"},
	Needs:  rule.Bytes | rule.Frames, Sees: rule.Emitted | rule.Foreign, Stimulus: "any traffic", BlackBox: "HW,RXE",
	Each: sent(func(c *rule.Context, s *rule.Sight) {
		if kind, other := notIP(s.Raw); other {
			c.Failf(sender(s), "not a UDP packet: EtherType 0x%04x", kind)
			return
		}
		ip, udp, ok := rule.Network(s.Raw)
		if !ok {
			return
		}
		c.Met()
		if port := binary.BigEndian.Uint16(ip[udp+2:]); port != roce.Port {
			c.Failf(sender(s), "UDP destination port %d, not %d", port, roce.Port)
		}
	}),
}

// udpSourcePort compares with the first packet of the same direction. A port that changes once is reported for every
// later packet, not for every change.
var udpSourcePort = rule.Rule{
	ID: "WIRE-UDP-002", Level: rule.Should, Rests: validity.Frames,
	Title: "The UDP source port is constant per QP and direction",
	Source: rule.Source{Ref: "IBTA A17.3.1", Requirement: "The source port carries flow entropy and stays the same for " +
		"the packets of one flow, so that the network keeps their order"},
	Needs: rule.Bytes | rule.Frames, Sees: rule.Emitted, Stimulus: "any traffic", BlackBox: "HW,RXE",
	Keeps: true, Looks: true, Each: func(c *rule.Context, s *rule.Sight) {
		ip, udp, ok := rule.Network(s.Raw)
		if !ok || !asMade(c, s) {
			return
		}
		first := rule.State[[2]uint16](c) // by direction: requests, responses; 0 is not a valid port
		port, known := binary.BigEndian.Uint16(ip[udp:]), &first[0]
		if sender(s) == rule.Responder {
			known = &first[1]
		}
		switch *known {
		case 0:
			*known = port
		case port:
			c.Met()
		default:
			if c.Several {
				c.Doubt(severalQPs)
				return
			}
			c.Failf(sender(s), "UDP source port %d, earlier packets had %d; one for a connection expected", port, *known)
		}
	},
}

// severalQPs is the doubt about packets that differ where all packets of a QP agree.
const severalQPs = "the packets may be of several connections: their QPNs were used again"

// udpLength compares with the captured frame, less the padding of the shortest Ethernet frame. Bytes behind a packet
// that its lengths and its ICRC prove complete are allowed: switches and taps add trailers, and keep the padding when
// they add or remove a tag.
var udpLength = rule.Rule{
	ID: "WIRE-UDP-003", Level: rule.Must, Rests: validity.Frames,
	Title: "UDP length and IP total length agree with the bytes present, ICRC included",
	Source: rule.Source{Ref: "IBTA A17.3.1, RFC 768, RFC 791", Requirement: "The length fields of IP and UDP count " +
		"every byte of the InfiniBand packet behind them, the ICRC included"},
	Needs: rule.Bytes | rule.Frames, Sees: rule.Emitted | rule.Foreign, Stimulus: "every operation and length",
	BlackBox: "HW,RXE",
	Each: sent(func(c *rule.Context, s *rule.Sight) {
		ip, udp, ok := rule.Network(s.Raw)
		if !ok {
			return
		}
		c.Met()
		says, has, datagram := total(ip), len(ip), int(binary.BigEndian.Uint16(ip[udp+4:]))
		whole := says < has && (len(s.Raw) == shortest || s.ICRC == trace.Good && datagram == says-udp)
		if says != has && !whole && !checked(s.Raw) {
			c.Failf(sender(s), "IP length %d, %d bytes present", says, has)
		}
		if datagram != says-udp {
			c.Failf(sender(s), "UDP length %d, the IP packet has room for %d", datagram, says-udp)
		}
	}),
}

// shortest is the minimum size of an Ethernet frame in bytes, without FCS.
const shortest = 60

// checked reports whether a frame was captured with its frame check sequence.
func checked(raw []byte) bool {
	n := len(raw) - 4
	return n > 0 && crc32.ChecksumIEEE(raw[:n]) == binary.LittleEndian.Uint32(raw[n:])
}

// ipFragments judges the flags only. A later fragment has no UDP header, but its first four bytes are read as one.
var ipFragments = rule.Rule{
	ID: "WIRE-IP-001", Level: rule.Should, Rests: validity.Frames,
	Title: "IPv4 DF is set and no fragments are produced",
	Source: rule.Source{Ref: "IBTA A17.3.1",
		Requirement: "RoCEv2 packets are sent with the don't-fragment bit set and never as fragments"},
	Needs: rule.Bytes | rule.Frames, Sees: rule.Emitted | rule.Foreign, Stimulus: "every operation and length",
	BlackBox: "HW,RXE",
	Each: sent(func(c *rule.Context, s *rule.Sight) {
		ip, udp, ok := rule.Network(s.Raw)
		if !ok {
			return
		}
		c.Met()
		flags := binary.BigEndian.Uint16(ip[6:])
		switch {
		case udp == 40: // IPv6 routers do not fragment, and a fragment by the sender is not plain UDP
		case flags&fragment != 0:
			c.Failf(sender(s), "a fragment (flags and offset %#04x); whole packets expected", flags)
		case flags&dontFragment == 0:
			c.Fail(sender(s), "DF is clear; set expected")
		}
	}),
}

// Bits of an IPv4 header: do not fragment; and those of a fragment, more fragments or a nonzero offset.
const dontFragment, fragment = 0x4000, 0x3FFF
