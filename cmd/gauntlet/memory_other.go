//go:build !linux

package main

import "github.com/rdma-gauntlet/gauntlet/harness/unit"

// availableMemory is not known here.
func availableMemory() (unit.Size, bool) { return 0, false }
