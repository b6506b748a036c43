package merge

import (
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// ContentKey identifies a frame of one sender by its bytes: see roce.Fingerprint.
func ContentKey(raw []byte, from trace.Side) uint64 { return KeyOf(roce.Fingerprint(raw), from) }

// KeyOf is the ContentKey of a frame with this fingerprint.
func KeyOf(fingerprint uint64, from trace.Side) uint64 { return fingerprint ^ uint64(from) }
