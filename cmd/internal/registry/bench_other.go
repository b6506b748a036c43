//go:build !linux

package registry

import (
	"errors"
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/fault"
	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/sim"
	"github.com/rdma-gauntlet/gauntlet/harness/contract"
)

var errLinux = errors.New("a program as implementation needs the netns bench, and that Linux")

// Ask asks no program here.
func Ask(string) (*contract.Capabilities, error) { return nil, errLinux }

// Start starts no program here.
func Start(string) (*contract.Program, error) { return nil, errLinux }

// Open returns the bench of that name. Benches with real packets need Linux.
func Open(name, _ string) (bench.Bench, error) {
	switch name {
	case "sim":
		return sim.Bench{}, nil
	case "netns", "lab", "container":
		return nil, fault.Usage(fmt.Errorf("--bench %s: needs Linux; use sim", name))
	}
	return nil, unknownBench(name)
}
