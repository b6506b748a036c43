package claims

import (
	"bufio"
	"fmt"
	"os"

	"github.com/rdma-gauntlet/gauntlet/harness/unit"
)

// availableMemory returns the kernel's estimate of the memory that programs can take without swapping (proc(5),
// MemAvailable).
func availableMemory() (unit.Size, bool) {
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return 0, false
	}
	defer f.Close()
	for in := bufio.NewScanner(f); in.Scan(); {
		var kib unit.Size
		if n, _ := fmt.Sscanf(in.Text(), "MemAvailable: %d kB", &kib); n == 1 {
			return kib * unit.KiB, true
		}
	}
	return 0, false
}
