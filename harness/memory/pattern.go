package memory

import (
	"encoding/binary"
	"hash/crc64"

	"github.com/rdma-gauntlet/gauntlet/harness/splitmix"
)

// Fill writes the pattern of seed over [va, va+n) and reports whether the range is registered; over virtual memory it
// does nothing more. The byte at an offset depends on seed and offset alone, so two ranges filled with one seed are
// equal and two seeds give ranges that differ nearly everywhere.
func (h *Host) Fill(va uint64, n int, seed uint64) bool {
	Pattern(h.Edit(va, n), splitmix.Stream(seed), 0)
	return h.find(va, n) != nil
}

// Pattern fills b with numbers of the stream, little-endian, from the given one on.
func Pattern(b []byte, s splitmix.Stream, from uint64) {
	for len(b) >= 8 {
		binary.LittleEndian.PutUint64(b, s.At(from))
		b = b[8:]
		from++
	}
	var tail [8]byte
	binary.LittleEndian.PutUint64(tail[:], s.At(from))
	copy(b, tail[:])
}

// Hash returns the CRC-64 (ECMA-182) of [va, va+n), with which a report names a memory image; ok is false when the
// range is virtual or not registered.
func (h *Host) Hash(va uint64, n int) (sum uint64, ok bool) {
	b := h.Load(va, n)
	return crc64.Checksum(b, crc64.MakeTable(crc64.ECMA)), b != nil
}
