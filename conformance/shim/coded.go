package shim

import (
	"bytes"
	"crypto/subtle"
	"hash/crc32"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// recover computes the packet at position at from a repair packet and its unit; ok is false when the result is no
// packet that the sender can have sent.
func (d *Decoder) recover(s *trace.Sight, at int) (made *trace.Sight, ok bool) {
	h, sum := &s.Pkt.Repair, slices.Clone(s.Pkt.Payload)
	check := h.Check
	u := &d.units[at%d.scheme.c]
	if s.Pkt.Len > len(sum) {
		d.Blind = true
		return nil, false
	}
	if u.lacking || u.bound && len(u.sum) > len(sum) {
		return nil, false
	}
	if u.bound {
		sum = fold(sum, u.sum)
		check -= u.check
	}
	n := d.length(h, sum, at)
	var p roce.Packet
	if n > len(sum) || len(bytes.Trim(sum[n:], "\x00")) > 0 || roce.RepairDigest(sum[:n]) != check ||
		p.DecodeTransport(sum[:n]) != nil ||
		!d.sound(&p, h, at) {
		return nil, false
	}
	rec := &trace.Record{Sent: s.Rec.Sent, Recv: s.At, From: s.Rec.From, Conn: s.Rec.Conn,
		Fate: trace.Delivered, Packet: p,
		Sum: sumOf(p.Payload), ICRC: trace.Good, WireBytes: p.WireLen(false)}
	copied := *s
	copied.Rec, copied.Pkt, copied.Sum, copied.ICRC, copied.Raw = rec, &rec.Packet, rec.Sum, trace.Good, nil
	return &copied, true
}

// length returns the length of a recovered packet: all packets of a message but the last carry one MTU (LoWAR III-C5,
// IV-C).
func (d *Decoder) length(h *roce.Repair, sum []byte, at int) int {
	if h.HasLast && at == int(h.N)-1 {
		return int(h.LastLen)
	}
	if len(sum) == 0 || d.above.PathMTU() == 0 {
		return len(sum)
	}
	return roce.Opcode(sum[0]).HeaderLen() + d.above.PathMTU()
}

// sound reports whether a recovered packet fits its position: it is for this QP, has the PSN of the position and a
// coded opcode, and begins and ends a message where the repair packet says so.
func (d *Decoder) sound(p *roce.Packet, h *roce.Repair, at int) bool {
	q := d.Receiver
	o := p.Opcode
	first, last := h.HasFirst && at == 0, h.HasLast && at == int(h.N)-1
	return p.PSN == h.Base.Add(at) && (q.QPN == 0 || p.DestQP == q.QPN) && p.TVer == 0 &&
		(!d.Known || p.PKey == q.PKey) &&
		isCoded(o) && o.IsReadResponse() == d.Reads && o.StartsMessage() == first && o.EndsMessage() == last
}

// sumOf returns the Sum of a record for a payload: the CRC-32, and zero for no payload.
func sumOf(payload []byte) uint32 {
	if len(payload) == 0 {
		return 0
	}
	return crc32.ChecksumIEEE(payload)
}

// isCoded reports whether LoWAR protects packets of an opcode: "mainly referring to WRITE and READ Response semantics"
// (IV-A), and SEND.
func isCoded(o roce.Opcode) bool {
	return o.Class() == roce.ClassRC && (o.IsSend() || o.IsWrite() || o.IsReadResponse())
}

// fold XORs a packet into a sum; the shorter of the two is padded with zeros (Alg. 1).
func fold(sum, packet []byte) []byte {
	for len(sum) < len(packet) {
		sum = append(sum, 0)
	}
	subtle.XORBytes(sum, sum[:len(packet)], packet)
	return sum
}

// CodedBytes returns the bytes of a frame that LoWAR codes: a copy from the BTH to the end of the padding, with the
// byte that routers may change set to zero.
func CodedBytes(raw []byte) []byte {
	const reserved = 4
	from, _, ok := roce.FieldSpan(raw, "opcode")
	to, _, sealed := roce.FieldSpan(raw, "icrc")
	if !ok || !sealed || to <= from+reserved {
		return nil
	}
	b := slices.Clone(raw[from:to])
	if roce.Opcode(b[0]) != roce.LoWAR {
		b[reserved] = 0
	}
	return b
}
