package main

import (
	"context"
	"os"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/lab"
)

// elsewhere tells whether a bench is in a guest that has yet to be booted. In the guest the same command line runs again, and
// the bench "lab" is the netns bench of that kernel.
func elsewhere(bench string) bool { return bench == "lab" && !lab.Inside() }

// again runs this command in a guest. Files are what it reads, outputs what it writes, and more is appended to the command line.
func (f *guestFlags) again(ctx context.Context, seed uint64, files, outputs []string, more ...string) error {
	g, err := f.guest()
	if err != nil {
		return err
	}
	g.Seed = seed
	g.Command = append(append([]string{"gauntlet"}, os.Args[1:]...), more...)
	g.Env = []string{"TZ=UTC"}
	if files, err = absolute(files); err != nil { // a name without a slash would be looked for among the programs
		return usage(err)
	}
	g.With, g.Modules = slices.Concat(g.With, files, f.programs), f.drivers
	if g.Outputs, err = absolute(outputs); err != nil {
		return usage(err)
	}
	return boot(ctx, g)
}
