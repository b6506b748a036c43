package memory

import (
	"encoding/binary"
	"hash/crc64"
)

// Fill writes the pattern of seed over [va, va+n) and reports whether the range is registered; over virtual memory it
// does nothing more. The byte at an offset depends on seed and offset alone, so two ranges filled with one seed are
// equal and two seeds give ranges that differ nearly everywhere.
func (h *Host) Fill(va uint64, n int, seed uint64) bool {
	r := h.find(va, n)
	if r != nil && r.Bytes != nil {
		Pattern(h.Load(va, n), seed)
	}
	return r != nil
}

// Pattern fills b with the pattern of seed: the SplitMix64 sequence (Steele, Lea, Flood, OOPSLA 2014), little-endian.
func Pattern(b []byte, seed uint64) {
	for len(b) >= 8 {
		seed += 0x9E3779B97F4A7C15
		binary.LittleEndian.PutUint64(b, mix(seed))
		b = b[8:]
	}
	var tail [8]byte
	binary.LittleEndian.PutUint64(tail[:], mix(seed+0x9E3779B97F4A7C15))
	copy(b, tail[:])
}

// mix is the output function of SplitMix64.
func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

// Hash returns the CRC-64 (ECMA-182) of [va, va+n), with which a report names a memory image; ok is false when the
// range is virtual or not registered.
func (h *Host) Hash(va uint64, n int) (sum uint64, ok bool) {
	b := h.Load(va, n)
	return crc64.Checksum(b, crc64.MakeTable(crc64.ECMA)), b != nil
}
