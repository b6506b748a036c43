package main

import (
	"fmt"
	"os"

	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/sim"
)

// findBench returns the bench of that name. The netns bench needs privilege: a process without it starts again as root of
// a user namespace, and this call then does not return.
func findBench(name, expose string) (bench.Bench, error) {
	switch name {
	case "sim":
		return sim.Bench{}, nil
	case "netns":
		code, replaced, err := netns.Reexec()
		if err != nil {
			return nil, exit{exitBroken, err.Error()}
		}
		if replaced {
			os.Exit(code)
		}
		self, err := os.Executable()
		if err != nil {
			return nil, exit{exitBroken, err.Error()}
		}
		return &netns.Bench{Self: self, Expose: expose}, nil
	}
	return nil, usage(fmt.Errorf("--bench %q: want sim or netns", name))
}
