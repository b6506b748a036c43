//go:build !linux

package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/sim"
	"github.com/rdma-gauntlet/gauntlet/harness/contract"
)

// ask hears what a program can do.
func ask(string) (*contract.Capabilities, error) {
	return nil, fmt.Errorf("a program as implementation needs the netns bench, and that Linux")
}

// findBench returns the bench of that name.
func findBench(name, _ string) (bench.Bench, error) {
	switch name {
	case "sim":
		return sim.Bench{}, nil
	case "netns", "lab", "container":
		return nil, usage(fmt.Errorf("--bench %s: needs Linux; use sim", name))
	}
	return nil, usage(fmt.Errorf("--bench %q: want one of %s", name, strings.Join(choices["bench"], ", ")))
}

func processCommands() []*cobra.Command { return nil }

func labCommands() []*cobra.Command { return nil }
