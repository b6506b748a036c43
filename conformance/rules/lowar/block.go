package lowar

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// block is one coding block.
type block struct {
	base        psn.PSN
	r, c        int
	n           int // data packets so far
	first, last bool
	again       bool // it began with a retransmission
	lastLen     int
	units       [][]byte // their sums, when wanted
	checks      []uint32 // the sums of their digests
	repairs     int      // repair packets so far
	at          vtime.Time
	index       uint64 // of its last packet
	wire        int    // bytes on the wire
	drops       []bool // of data and repair packets in the order in which they left: whether the link lost them
}

// complete reports whether repair packets are due.
func (b *block) complete() bool { return b.n > 0 && (b.n == b.r || b.last) }

// want is how many: "If a message has packets equal to or fewer than the interleaving depth, LoWAR first guarantees
// interleaving and generates repair packets [...] as duplicates of original packets" (LoWAR IV-B1).
func (b *block) want() int { return min(b.c, b.n) }

// end is the PSN behind the block.
func (b *block) end() psn.PSN { return b.base.Add(b.n) }

// add puts a packet into the block.
func (b *block) add(s *rule.Sight) {
	p := s.Pkt
	if len(b.units) > 0 {
		at := b.n % len(b.units)
		packet := rule.CodedBytes(s.Raw)
		b.units[at] = fold(b.units[at], packet)
		b.checks[at] += roce.RepairDigest(packet)
	}
	b.n++
	b.at, b.index = s.At, s.Index
	b.first = b.first || p.Opcode.StartsMessage()
	if p.Opcode.EndsMessage() {
		b.last, b.lastLen = true, p.TransportLen()
	}
	b.wire += s.Rec.WireBytes
	b.drops = append(b.drops, s.Rec.Lost())
}

// fold adds a packet to a unit: "Perform bit-wise XOR operation" (LoWAR Alg. 1).
func fold(unit, packet []byte) []byte {
	for len(unit) < len(packet) {
		unit = append(unit, 0)
	}
	for i, x := range packet {
		unit[i] ^= x
	}
	return unit
}
