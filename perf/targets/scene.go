package targets

import (
	"fmt"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// scene joins scenario lines.
func scene(lines ...string) string { return strings.Join(lines, "\n") }

// Durations and rates that several papers share.
const (
	ms = vtime.Millisecond
	us = vtime.Microsecond
	g1 = unit.Gbps
)

// packet is a MIDDLE packet of a path MTU of 1024 on the line, in bytes: what the products of these papers are counted
// in.
const packet = 1106

// deep is a queue that never fills: these links lose by chance, not by congestion.
const deep = "queue=400000"

// lossy is a loss line for one direction or, with dir "", both; none without loss.
func lossy(dir string, p float64) string {
	if p == 0 {
		return ""
	}
	return strings.TrimSpace(fmt.Sprintf("loss %s random p=%g", dir, p))
}
