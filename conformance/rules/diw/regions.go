package diw

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
)

// permits reports whether n bytes may be written at va under a steering tag. It is true when the target's memory is not
// known.
func permits(m *rule.MemoryMap, stag uint32, va uint64, n uint32) bool {
	return n == 0 || !m.Known() || m.Allows(stag, va, uint64(n), engine.RemoteWrite)
}
