//go:build !linux

package claims

import "github.com/rdma-gauntlet/gauntlet/harness/unit"

// availableMemory reports that the size is unknown on this system.
func availableMemory() (unit.Size, bool) { return 0, false }
