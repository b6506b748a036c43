package iwarp

import (
	"encoding/binary"
	"strconv"

	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// Leading decodes the segment at the start of a datagram or of its first fragment, as far as the fragment holds it. n
// is the length of the segment's payload in the whole datagram; ok is false for any other packet.
func Leading(p *roce.Packet) (s Segment, n int, ok bool) {
	if p.Opcode != roce.UDP || !p.IP.Fragment.First() || len(p.Payload) < UDPLen+TaggedLen {
		return s, 0, false
	}
	whole := int(binary.BigEndian.Uint16(p.Payload[4:]))
	body := p.Payload[UDPLen:]
	if !p.IP.Fragment.More() && len(body) >= CRCLen {
		body = body[:len(body)-CRCLen]
	}
	if s.Decode(body) != nil {
		return s, 0, false
	}
	n = whole - UDPLen - s.HeaderLen() - CRCLen
	return s, n, n >= 0
}

// KindFragment is the Kind of a fragment other than the first.
const KindFragment = "FRAGMENT"

// Kind returns the name of a packet without BTH in fault scripts: the opcode of the segment at its start, KindFragment
// for a fragment other than the first, TCP for a segment of a stream.
func Kind(p *roce.Packet) string {
	if s, _, ok := Leading(p); ok {
		return s.Opcode.String()
	}
	if !p.IP.Fragment.First() {
		return KindFragment
	}
	return p.Opcode.String()
}

// AppendSummary appends the form of a packet without BTH in a ladder: the segment at its start, or its position in its
// datagram.
func AppendSummary(b []byte, p *roce.Packet) []byte {
	s, n, ok := Leading(p)
	if !ok {
		return p.AppendText(b, roce.TextOptions{Omit: roce.OmitForLadder})
	}
	s.Payload = nil
	b = s.appendText(b, false, n)
	if p.IP.Fragment.More() {
		b = append(strconv.AppendInt(append(b, " frag=0.."...), int64(len(p.Payload)), 10), " MF"...)
	}
	return b
}
