package rc

import (
	"encoding/binary"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// ExecuteAtomic executes an atomic that has passed CheckFetch, and returns the original value. Values in memory are
// little-endian. Virtual memory reads as zero. word is a buffer for the new value, owned by the caller; ok is false if
// the new value cannot be stored.
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

// applied returns the value after the atomic, and whether the atomic writes it (IBTA 9.4).
func applied(p *roce.Packet, op engine.Op, old uint64) (v uint64, write bool) {
	if op == engine.OpFetchAdd {
		return old + p.Atomic.SwapAdd, true
	}
	return p.Atomic.SwapAdd, old == p.Atomic.Compare
}
