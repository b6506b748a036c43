//go:build !linux

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/sim"
)

// findBench returns the bench of that name.
func findBench(name, _ string) (bench.Bench, error) {
	switch name {
	case "sim":
		return sim.Bench{}, nil
	case "netns":
		return nil, usage(fmt.Errorf("--bench netns: needs Linux; use sim"))
	}
	return nil, usage(fmt.Errorf("--bench %q: want sim or netns", name))
}

func processCommands() []*cobra.Command { return nil }
