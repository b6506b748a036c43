package merge

import (
	"hash/crc32"

	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// ContentKey identifies a frame by its bytes from the IP header on, except for TTL and header checksum, which every
// router changes. Two CRCs of different polynomials make it 64 bits wide at memory speed.
func ContentKey(raw []byte, from trace.Side) uint64 {
	var head [40]byte
	n := copy(head[:], raw[min(etherLen, len(raw)):])
	switch head[0] >> 4 {
	case 4:
		head[8], head[10], head[11] = 0, 0, 0
	case 6:
		head[7] = 0
	}
	rest := raw[min(etherLen+n, len(raw)):]
	a := crc32.Update(crc32.ChecksumIEEE(head[:n]), crc32.IEEETable, rest)
	b := crc32.Update(crc32.Checksum(head[:n], castagnoli), castagnoli, rest)
	return uint64(a)<<32 | uint64(b) ^ uint64(from)
}

// etherLen is the length of an Ethernet header without a VLAN tag.
const etherLen = 14

// castagnoli is the polynomial that processors compute.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)
