package rule

import (
	"bytes"
	"crypto/subtle"
	"hash/crc32"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// recover makes the packet at a position from a repair packet and its unit; ok is false when it is none that the sender
// can have sent.
func (d *Decoder) recover(s *trace.Sight, at int) (made *trace.Sight, ok bool) {
	h, sum := &s.Pkt.Repair, slices.Clone(s.Pkt.Payload)
	check := h.Check
	u := &d.units[at%d.scheme.c]
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

// length trims a recovered packet: all packets of a message but the last are one MTU long (LoWAR III-C5, IV-C).
func (d *Decoder) length(h *roce.Repair, sum []byte, at int) int {
	if h.HasLast && at == int(h.N)-1 {
		return int(h.LastLen)
	}
	if len(sum) == 0 || d.conv.MTU == 0 {
		return len(sum)
	}
	return roce.Opcode(sum[0]).HeaderLen() + d.conv.MTU
}

// sound reports whether a recovered packet is what belongs at its place: for this QP, with its PSN, of a coded kind,
// and beginning and ending a message where the repair packet says that the block does.
func (d *Decoder) sound(p *roce.Packet, h *roce.Repair, at int) bool {
	q := d.conv.PeerAttr
	if d.reads {
		q = d.conv.Attr
	}
	o := p.Opcode
	first, last := h.HasFirst && at == 0, h.HasLast && at == int(h.N)-1
	return p.PSN == h.Base.Add(at) && (q.QPN == 0 || p.DestQP == q.QPN) && p.TVer == 0 &&
		(!d.conv.Known || p.PKey == q.PKey) &&
		isCoded(o) && o.IsReadResponse() == d.reads && o.StartsMessage() == first && o.EndsMessage() == last
}

// sumOf is what a record states of a payload: its CRC-32, and zero when there is none.
func sumOf(payload []byte) uint32 {
	if len(payload) == 0 {
		return 0
	}
	return crc32.ChecksumIEEE(payload)
}

// isCoded reports a packet that LoWAR protects: "mainly referring to WRITE and READ Response semantics" (IV-A), and
// SEND.
func isCoded(o roce.Opcode) bool {
	return o.Class() == roce.ClassRC && (o.IsSend() || o.IsWrite() || o.IsReadResponse())
}

// fold adds a packet to a sum, bit by bit, with what is missing at the end of either taken for zeros (Alg. 1).
func fold(sum, packet []byte) []byte {
	for len(sum) < len(packet) {
		sum = append(sum, 0)
	}
	subtle.XORBytes(sum, sum[:len(packet)], packet)
	return sum
}

// CodedBytes returns what LoWAR codes of a frame: a copy of its bytes from the BTH to the end of the padding, with zero
// for the byte that routers may change.
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
