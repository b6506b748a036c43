package targets

import (
	"fmt"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// scene joins the lines of a scenario.
func scene(lines ...string) string { return strings.Join(lines, "\n") }

// Durations and rates that several papers use.
const (
	ms = vtime.Millisecond
	us = vtime.Microsecond
	g1 = unit.Gbps
)

// packet is the length on the line of a MIDDLE packet with a path MTU of 1024, in bytes: the unit of the products in
// these papers.
const packet = 1106

// deep is a queue that never fills: these links lose packets at random, not by congestion.
const deep = "queue=400000"

// lossy returns the loss line for one direction or, with dir "", for both; "" without loss.
func lossy(dir string, p float64) string {
	if p == 0 {
		return ""
	}
	return strings.TrimSpace(fmt.Sprintf("loss %s random p=%g", dir, p))
}
