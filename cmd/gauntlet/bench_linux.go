package main

import (
	"fmt"
	"os"

	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/lab"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/sim"
	"github.com/rdma-gauntlet/gauntlet/harness/contract"
)

// ask hears what a program can do.
func ask(path string) (*contract.Capabilities, error) {
	p, err := netns.Start(path)
	if err != nil {
		return nil, err
	}
	return contract.Ask(p)
}

// findBench returns the bench of that name. The netns bench needs privilege: a process without it starts again as root of
// a user namespace, and this call then does not return.
func findBench(name, expose string) (bench.Bench, error) {
	switch name {
	case "sim":
		return sim.Bench{}, nil
	case "netns", "lab":
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
		real := &netns.Bench{Self: self, Expose: expose}
		if name == "lab" {
			return lab.Bench{Bench: real}, nil
		}
		return real, nil
	}
	return nil, usage(fmt.Errorf("--bench %q: want sim, netns or lab", name))
}
