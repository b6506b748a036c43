package iwarp

import (
	"encoding/binary"
	"strconv"

	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// Leading reads the segment that a datagram, or the first fragment of one, begins with, as far as the fragment holds
// it. N is the length of the segment's payload in the whole datagram; ok is false for any other packet.
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

// KindFragment is the Kind of what follows the first fragment of a datagram.
const KindFragment = "FRAGMENT"

// Kind names a packet without BTH as a fault script does: the opcode of the segment that it begins with, KindFragment
// for what follows the first fragment, TCP for a segment of a stream.
func Kind(p *roce.Packet) string {
	if s, _, ok := Leading(p); ok {
		return s.Opcode.String()
	}
	if !p.IP.Fragment.First() {
		return KindFragment
	}
	return p.Opcode.String()
}

// AppendSummary appends what a ladder shows of a packet without BTH: the segment that it begins with, or which part of
// which datagram it is.
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
