package rc

import (
	"encoding/binary"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// ExecuteAtomic carries out an atomic, which CheckFetch has found fine, and returns the value that it found. Host order
// is little-endian. Virtual memory reads as zero. word is where the new value stands on its way to memory; ok is false
// when it cannot be stored.
func ExecuteAtomic(p *roce.Packet, s *Shape, mem engine.Memory, word *[8]byte) (found uint64, ok bool) {
	if b := mem.Load(p.RETH.VA, 8); b != nil {
		found = binary.LittleEndian.Uint64(b)
	}
	v, write := applied(p, s.Op, found)
	if !write {
		return found, true
	}
	binary.LittleEndian.PutUint64(word[:], v)
	return found, mem.Store(p.RETH.VA, word[:], len(word))
}

// applied returns the value after the atomic, and whether it is written at all (IBTA 9.4).
func applied(p *roce.Packet, op engine.Op, old uint64) (v uint64, write bool) {
	if op == engine.OpFetchAdd {
		return old + p.Atomic.SwapAdd, true
	}
	return p.Atomic.SwapAdd, old == p.Atomic.Compare
}
