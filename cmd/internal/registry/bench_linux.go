package registry

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/build"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/fault"
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

// Ask asks a program for its capabilities; see Start.
func Ask(name string) (*contract.Capabilities, error) {
	p, err := Start(name)
	if err != nil {
		return nil, err
	}
	caps, err := contract.Ask(p)
	return caps, fault.Theirs(err)
}

// Start starts the program of a name with the prefix exec: or image:, without a network.
func Start(name string) (*contract.Program, error) {
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

// openContainers connects to this machine's Docker Engine, within bounded time.
func openContainers() (*container.Engine, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return container.Open(context.Background(), self, build.Version(), build.Commit())
}

// Open returns the bench with a name. The netns bench needs privilege: a process without it starts itself again as root
// of a user namespace, waits, and returns a *Replaced. Expose names the namespaces of a netns run, NAME-a, NAME-link
// and NAME-b; "" leaves them anonymous.
func Open(name, expose string) (bench.Bench, error) {
	switch name {
	case "sim":
		return sim.Bench{}, nil
	case "container":
		e, err := openContainers()
		if err != nil {
			return nil, fault.Broken(err)
		}
		return &netns.Bench{Self: e.Self, Apart: e.Start}, nil
	case "netns", "lab":
		code, replaced, err := topology.Reexec()
		if err != nil {
			return nil, fault.Broken(err)
		}
		if replaced {
			return nil, &Replaced{code}
		}
		self, err := os.Executable()
		if err != nil {
			return nil, fault.Broken(err)
		}
		real := &netns.Bench{Self: self, Expose: expose}
		if name == "lab" {
			return lab.Bench{Bench: real}, nil
		}
		return real, nil
	case "remote":
		return nil, fault.Usage(errors.New(
			"--bench remote: this command has no hosts of a testbed; use run, conform, qualify or matrix"))
	}
	return nil, unknownBench(name)
}
