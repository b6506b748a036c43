package lowar

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/shim"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// block is one coding block.
type block struct {
	base        psn.PSN    // PSN of its first packet
	r, c        int        // its size and interleaving depth, in packets
	n           int        // data packets so far
	first, last bool       // it holds the first and the last packet of its message
	again       bool       // it began with a retransmission
	lastLen     int        // length of the transport packet that ends the message, in bytes; 0 without last
	units       [][]byte   // their XOR sums, if a rule needs them
	checks      []uint32   // sums of the packets' digests, by unit
	cut         bool       // of one of its packets not all bytes are known, nor its part in the sums
	repairs     int        // repair packets so far
	at          vtime.Time // of its last data packet; 0 once reported
	index       uint64     // record of its last data packet
	wire        int        // bytes of its data packets on the wire
	// by data and repair packet, in the order of sending: the link lost it
	drops []bool
}

// complete reports whether repair packets are due.
func (b *block) complete() bool { return b.n > 0 && (b.n == b.r || b.last) }

// want returns the number of repair packets due: "If a message has packets equal to or fewer than the interleaving
// depth, LoWAR first guarantees interleaving and generates repair packets [...] as duplicates of original packets"
// (LoWAR IV-B1).
func (b *block) want() int { return min(b.c, b.n) }

// end returns the PSN after the block.
func (b *block) end() psn.PSN { return b.base.Add(b.n) }

// add puts a packet into the block.
func (b *block) add(s *rule.Sight) {
	p := s.Pkt
	b.cut = b.cut || len(s.Raw) == 0
	if len(b.units) > 0 {
		at := b.n % len(b.units)
		packet := shim.CodedBytes(s.Raw)
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
