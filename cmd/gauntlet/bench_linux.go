package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/container"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/lab"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/child"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/topology"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/sim"
	"github.com/rdma-gauntlet/gauntlet/harness/contract"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
)

// ask hears what a program can do, see startForeign.
func ask(name string) (*contract.Capabilities, error) {
	p, err := startForeign(name)
	if err != nil {
		return nil, err
	}
	return contract.Ask(p)
}

// startForeign starts the program of a name that begins with exec: or image:, without a network.
func startForeign(name string) (*contract.Program, error) {
	image, contained := strings.CutPrefix(name, scenario.Image)
	if !contained {
		path, err := filepath.Abs(strings.TrimPrefix(name, scenario.Exec))
		if err != nil {
			return nil, err
		}
		return child.Start(path)
	}
	e, err := openContainers()
	if err != nil {
		return nil, err
	}
	return e.StartImage(context.Background(), image)
}

// openContainers finds this machine's Docker Engine, within bounded time.
func openContainers() (*container.Engine, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return container.Open(context.Background(), self, version(), commit())
}

// findBench returns the bench of that name. The netns bench needs privilege: a process without it starts again as root of
// a user namespace, and this call then does not return.
func findBench(name, expose string) (bench.Bench, error) {
	switch name {
	case "sim":
		return sim.Bench{}, nil
	case "container":
		e, err := openContainers()
		if err != nil {
			return nil, exit{exitBroken, err.Error()}
		}
		return &netns.Bench{Self: e.Self, Apart: e.Start}, nil
	case "netns", "lab":
		code, replaced, err := topology.Reexec()
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
	return nil, usage(fmt.Errorf("--bench %q: want one of %s", name, strings.Join(choices["bench"], ", ")))
}
