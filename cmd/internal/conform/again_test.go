package conform

import (
	"testing"
	"time"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/device"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/registry"
)

// TestAgain: the command repeats a scenario as it was run, and names no default.
func TestAgain(t *testing.T) {
	for _, c := range []struct {
		o    Options
		impl string
		want string
	}{
		{Options{Bench: "sim", Attempts: Attempts, Link: "auto"}, "gbn", "--impl gbn --bench sim --focus ' s$'"},
		{Options{Bench: "sim", Peer: "irn", Limit: time.Minute}, "exec:./a+b",
			"--impl exec:./a+b --peer irn --bench sim --limit 1m0s --focus ' s$'"},
		{Options{Bench: "netns", Link: "relay", Dilate: 8, Attempts: 1, Still: 3 * time.Second}, "gbn",
			"--impl gbn --bench netns --link relay --dilate 8 --attempts 1 --no-progress 3s --focus ' s$'"},
		{Options{Bench: "netns"}, device.Responder, "--dut rxe --bench netns --focus 'rxe-responder s$'"},
		{Options{Bench: "netns"}, device.Both, "--dut rxe --peer rxe --bench netns --focus ' s$'"},
		{Options{Bench: "remote", Hosted: registry.Hosted{File: "lab.txt", Host: "dut1"}}, device.Requester,
			"--testbed lab.txt --dut dut1 --focus 'rxe-requester s$'"},
	} {
		if got := c.o.Again(c.impl, "s"); got != "gauntlet conform "+c.want {
			t.Errorf("%s\nwant gauntlet conform %s", got, c.want)
		}
	}
}
