//go:build !linux

package registry

import (
	"context"
	"errors"
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/fault"
	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/sim"
	"github.com/rdma-gauntlet/gauntlet/harness/contract"
)

var errLinux = errors.New("a program as implementation needs the netns bench, and that Linux")

// Ask returns an error: programs need Linux.
func Ask(string) (*contract.Capabilities, error) { return nil, errLinux }

// Start returns an error: programs need Linux.
func Start(string) (*contract.Program, error) { return nil, errLinux }

// OpenHosted returns an error: the remote bench needs Linux.
func OpenHosted(context.Context, Hosted, int) (b bench.Bench, names []string, done func() error, err error) {
	return nil, nil, nil, fault.Usage(errors.New("--bench remote: needs Linux"))
}

// Open returns the bench with a name. Benches with real packets need Linux.
func Open(name, _ string) (bench.Bench, error) {
	switch name {
	case "sim":
		return sim.Bench{}, nil
	case "netns", "lab", "container", "remote":
		return nil, fault.Usage(fmt.Errorf("--bench %s: needs Linux; use sim", name))
	}
	return nil, unknownBench(name)
}
