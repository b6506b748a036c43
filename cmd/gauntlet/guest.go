package main

import (
	"context"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/guest"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/lab"
)

// guestFlags are the flags of every command that boots a guest.
type guestFlags struct{ guest.Options }

func (f *guestFlags) define(c *cobra.Command) {
	d := c.Flags()
	d.StringVar(&f.Kernel, "kernel", "", "lab: kernel image to boot, with --modules (default: the one fetched last)")
	d.StringVar(&f.Modules, "modules", "", "lab: folder of that kernel's modules, such as /lib/modules/6.1.0-56-amd64")
	d.BoolVar(&f.Deterministic, "deterministic", false, "lab: count instructions instead of time; the same command then gives the same bytes")
	d.IntVar(&f.Memory, "guest-memory", lab.DefaultMemory, "lab: memory of the guest in MiB")
	d.DurationVar(&f.Limit, "guest-limit", lab.DefaultLimit, "lab: end a guest that runs for longer, with --deterministic by its own clock")
	d.StringArrayVar(&f.With, "guest-with", nil, "lab: program by name, or file or folder by path, to take along; may be repeated")
	d.StringVar(&f.Console, "guest-console", "", "lab: keep what the guest's kernel says in this file")
}

// again runs this command in a guest and ends with its exit code. Files are what it reads, outputs what it writes, and more is
// appended to the command line.
func (f *guestFlags) again(ctx context.Context, seed uint64, files, outputs []string, more ...string) error {
	return ended(f.Again(ctx, guest.Command{Args: slices.Concat(os.Args[1:], more), Seed: seed, Files: files, Outputs: outputs}))
}

// ended is how this process ends after another, whose exit code this is.
func ended(code int, err error) error {
	if err != nil || code == 0 {
		return err
	}
	return exit{code: code}
}
