package wire

import (
	"bytes"
	"encoding/binary"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
)

// extension is the feature of transports with opcodes of the manufacturer-specific classes.
const extension = "extension"

// spare is a part of a header that must be zero, next to a field named as in roce.FieldSpan.
type spare struct {
	layout roce.Layout
	field  string
	off    int // from the field, in bytes
	mask   byte
}

var extensionLayout = rule.Rule{
	ID: "WIRE-EXT-001", Level: rule.Must, Rests: validity.Frames,
	Title: "Extension packets have exactly the layout of their opcode, with spare bits zero",
	Source: rule.Source{Ref: "package roce, extension opcodes", Requirement: "SACKETH is four bytes (3 bits lost-cnt, 5 " +
		"spare, 24 PSN), SOETH eight (8 spare, 24 sequence number, 32 offset), VAETH eight"},
	Needs: rule.Bytes | rule.Frames, Sees: rule.Emitted | rule.Foreign, Features: []string{extension},
	Stimulus: "packets of an extension", BlackBox: "ENG",
	Each: sent(func(c *rule.Context, s *rule.Sight) {
		o := s.Pkt.Opcode
		if o.Class() != roce.ClassX && o.Class() != roce.ClassF {
			return
		}
		c.Met()
		if d := s.Defect(); d != "" {
			c.Failf(sender(s), "%v: %s", o, d)
			return
		}
		for _, x := range spares {
			at, _, ok := roce.FieldSpan(s.Raw, x.field)
			if ok && o.Layout()&x.layout != 0 && s.Raw[at+x.off]&x.mask != 0 {
				c.Failf(sender(s), "%v: spare bits beside %s are not zero", o, x.field)
			}
		}
		if o.Class() == roce.ClassX && s.Pkt.SACK.LostCnt != 0 {
			c.Failf(sender(s), "%v: lost-cnt %d, which only FaSR has", o, s.Pkt.SACK.LostCnt)
		}
	}),
}

// spares are the parts of headers that must be zero.
var spares = []spare{
	{roce.LayoutSACKETH, "lost", 0, 0x1F}, // bits 28 to 24
	{roce.LayoutSOETH, "sn", -1, 0xFF},    // the byte before the sequence number
}

// extensionIdentity runs the codec of the harness over every frame that devices send. A bit that a device sets and the
// codec does not know is a fault of one of them.
var extensionIdentity = rule.Rule{
	ID: "WIRE-EXT-002", Level: rule.Must, Rests: validity.Frames,
	Title: "Decoding a frame and encoding it again is the identity",
	Source: rule.Source{Ref: "IBTA 9.2", Requirement: "Every bit of a packet is either a field, a zero, or a checksum " +
		"of the others, so nothing is lost between bytes and fields"},
	Needs: rule.Bytes | rule.Frames, Sees: rule.Emitted | rule.Foreign, Stimulus: "frames of every kind",
	BlackBox: "ENG",
	Each: sent(func(c *rule.Context, s *rule.Sight) {
		var f roce.Frame
		if s.Defect() != "" || s.ICRC != trace.Good || f.Decode(s.Raw) != nil {
			return
		}
		c.Met()
		away := c.Maker(s) != rule.AtPort || c.Inferred
		if at := difference(s.Raw, &f, !c.Known, away); at >= 0 {
			c.Failf(sender(s), "%v: byte %d changes by decoding and encoding; the same bytes expected", f.Packet.Opcode, at)
		}
	}),
}

// difference returns the first byte in which a frame differs from its decoded form encoded again, -1 when there is
// none. The payload is not compared, and a good ICRC is taken as equal. Not compared are the Ethernet padding behind
// the packet, a UDP checksum that the encoder or the sender leaves out over IPv4, and the traffic class and flow label
// of IPv6, which the network may change. In a capture of hosts that are not known (foreign) the interface may fill in
// the checksum of the IPv4 header behind the tap. Away from the sender's port the UDP checksum may have been damaged on
// the way, as the ICRC does not cover it.
func difference(raw []byte, f *roce.Frame, foreign, away bool) int {
	var room [roce.MaxHead]byte
	head := f.AppendHead(room[:0])
	end := len(head) + len(f.Packet.Payload)
	if len(raw) < f.Len() {
		return len(raw)
	}
	if at := headDifference(raw, head, foreign, away); at >= 0 {
		return at
	}
	for i := end; i < f.Len()-icrcLen; i++ {
		if raw[i] != 0 {
			return i // padding
		}
	}
	return -1
}

// headDifference compares the headers.
func headDifference(raw, head []byte, foreign, away bool) int {
	if bytes.Equal(raw[:len(head)], head) {
		return -1
	}
	ip, udp, _ := rule.Network(raw)
	checksum := len(raw) - len(ip) + udp + 6
	if v4 := ip[:udp]; foreign && udp == 20 && v4[10]|v4[11] == 0 {
		copy(head[len(raw)-len(ip)+10:], v4[10:12])
	}
	if udp == 40 && raw[checksum]|raw[checksum+1] != 0 {
		binary.BigEndian.PutUint16(head[checksum:], roce.UDPChecksum(ip[:min(total(ip), len(ip))]))
	}
	// the network may have changed the byte of FECN and BECN, and not the checksum, which the ICRC does not cover
	marked := away || foreign && len(head) > checksum+6 && head[checksum+6] != 0
	for i := range head {
		label := udp == 40 && i >= len(raw)-len(ip) && i < len(raw)-len(ip)+4 // traffic class and flow label of IPv6
		without := (i == checksum || i == checksum+1) && (udp == 20 || marked || raw[checksum]|raw[checksum+1] == 0)
		if raw[i] != head[i] && !label && !without {
			return i
		}
	}
	return -1
}

// extensionTruncation tries the first frame of each opcode that a side sends.
var extensionTruncation = rule.Rule{
	ID: "WIRE-EXT-003", Level: rule.Must, Rests: validity.Frames,
	Title: "The decoder never panics, and rejects every truncation of every valid packet",
	Source: rule.Source{Ref: "IBTA 9.6, RFC 791",
		Requirement: "A packet shorter than its length fields or its headers say is malformed and is discarded"},
	Needs: rule.Bytes | rule.Frames, Sees: rule.Emitted, Stimulus: "an endpoint that reports how its decoder treats " +
		"truncated packets", BlackBox: "ENG",
	Keeps: true, Looks: true, Each: func(c *rule.Context, s *rule.Sight) {
		tried := triedBy(c, s)
		if tried.n == samples || s.Pkt.Opcode.OverIP() || tried.set[s.Pkt.Opcode] {
			return // a frame without BTH, which a box relays after it lost its UDP port, has no opcode
		}
		ip, _, ok := rule.Network(s.Raw)
		if !ok || s.Defect() != "" {
			return
		}
		tried.set[s.Pkt.Opcode], tried.n = true, tried.n+1
		c.Met()
		var f roce.Frame
		for n := range min(len(s.Raw)-len(ip)+total(ip), len(s.Raw)) {
			if f.Decode(s.Raw[:n]) == nil {
				c.Failf(rule.Capture, "%v cut to %d bytes decodes, an error expected", s.Pkt.Opcode, n)
			}
		}
	},
	Told: func(c *rule.Context, e *trace.Event) {
		// An endpoint that tests its own decoder reports how many truncations it accepted.
		if e.Kind == trace.Probe && e.Name == "truncations_accepted" && c.Mine(e) {
			c.Met()
			if e.Value != 0 {
				c.Failf(rule.Requester, "the endpoint's decoder accepts %d truncated packets, none expected", e.Value)
			}
		}
	},
}

// samples is the number of frames tried per side: each costs one decoding per byte.
const samples = 24

// triedKey identifies the opcodes tried at a port.
type triedKey struct{}

// opcodes is a set of opcodes.
type opcodes struct {
	set [256]bool
	n   int
}

// triedBy returns the set of opcodes tried for the sender of s.
func triedBy(c *rule.Context, s *rule.Sight) *opcodes {
	sides := rule.State[[2]*opcodes](c) // of the requester's side, and of the responder's
	i, port := 0, c.Port
	if sender(s) == rule.Responder {
		i, port = 1, c.PeerPort
	}
	if sides[i] == nil {
		sides[i] = port.Shared(triedKey{}, func() any { return new(opcodes) }).(*opcodes)
	}
	return sides[i]
}
