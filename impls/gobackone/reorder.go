package gobackone

import (
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// reorder holds the out-of-order packets: "The receiver uses an array bitmap of size max_ooo_psn to record the
// out-of-order packet information. … it calculates the offset of the current sequence number relative to the received
// next sequence number, and stores the data size in the corresponding position in the bitmap" (IV-C1).
//
// The position is the PSN modulo the size of a ring that doubles as gaps get wider, up to max_ooo_psn, so that a packet
// keeps its place while the expected PSN moves. Beside the size an entry holds the headers, for the packet is executed
// later, and where in the payload buffer its bytes are.
type reorder struct {
	slots []entry // a power of two of them, or none
	n     int     // packets kept
	bytes payloads
}

// entry is one out-of-order packet.
type entry struct {
	set    bool
	buffer int32 // in payloads; noBuffer when the packet has no bytes
	length int32
	bth    roce.BTH
	reth   roce.RETH
	atomic roce.AtomicETH
	imm    uint32
	invKey uint32
}

const (
	noBuffer    = -1
	leastWindow = 64
)

// put stores p, whose PSN is ahead PSNs after the expected one, and reports false if a packet with that PSN is stored
// already.
func (r *reorder) put(p *roce.Packet, ahead int) bool {
	if ahead >= len(r.slots) {
		r.grow(ahead + 1)
	}
	e := &r.slots[int(p.PSN)&(len(r.slots)-1)]
	if e.set {
		return false
	}
	*e = entry{set: true, buffer: noBuffer, length: int32(p.Len), bth: p.BTH, reth: p.RETH, atomic: p.Atomic,
		imm: p.Imm, invKey: p.InvKey}
	switch {
	case p.Len < 0 || p.Len > r.bytes.size || p.Payload != nil && len(p.Payload) != p.Len:
		e.length = -1 // a malformed packet stays malformed, and is refused when it is executed
	case len(p.Payload) > 0:
		e.buffer = r.bytes.keep(p.Payload)
	}
	r.n++
	return true
}

// take fills p with the packet of PSN at and forgets it. The payload is valid until the next put.
func (r *reorder) take(at psn.PSN, p *roce.Packet) bool {
	if r.n == 0 {
		return false
	}
	e := &r.slots[int(at)&(len(r.slots)-1)]
	if !e.set || e.bth.PSN != at {
		return false
	}
	*p = roce.Packet{BTH: e.bth, RETH: e.reth, Atomic: e.atomic, Imm: e.imm, InvKey: e.invKey, Len: int(e.length)}
	if e.buffer != noBuffer {
		p.Payload = r.bytes.release(e.buffer)[:e.length]
	}
	e.set = false
	r.n--
	return true
}

// drop removes the packets in [from, to): the PSNs of a READ's responses, which no request may have.
func (r *reorder) drop(from, to psn.PSN) {
	var p roce.Packet
	for i := 0; i < len(r.slots) && r.n > 0 && from.Less(to); i++ {
		r.take(from, &p)
		from = from.Next()
	}
}

func (r *reorder) grow(need int) {
	size := max(leastWindow, len(r.slots))
	for size < need {
		size *= 2
	}
	old := r.slots
	r.slots = make([]entry, size)
	for i := range old {
		if old[i].set {
			r.slots[int(old[i].bth.PSN)&(size-1)] = old[i]
		}
	}
}

// payloads is the "receiver's local buffer" (IV-B): room for full packets, taken in chunks as it is needed and used
// again and again.
type payloads struct {
	size   int // path MTU
	chunks [][]byte
	free   []int32
}

// chunkPackets is the number of packets in a chunk.
const chunkPackets = 64

// keep copies b, which is not longer than size, and returns the index of the copy.
func (s *payloads) keep(b []byte) int32 {
	if len(s.free) == 0 {
		first := int32(len(s.chunks) * chunkPackets)
		s.chunks = append(s.chunks, make([]byte, chunkPackets*s.size))
		for i := int32(chunkPackets) - 1; i >= 0; i-- {
			s.free = append(s.free, first+i)
		}
	}
	last := len(s.free) - 1
	at := s.free[last]
	s.free = s.free[:last]
	copy(s.buffer(at), b)
	return at
}

// release gives a buffer back; its bytes stay until the next keep.
func (s *payloads) release(at int32) []byte {
	s.free = append(s.free, at)
	return s.buffer(at)
}

func (s *payloads) buffer(at int32) []byte {
	off := int(at) % chunkPackets * s.size
	return s.chunks[int(at)/chunkPackets][off : off+s.size]
}
