package main

import (
	"context"
	"os"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/guest"
)

// guestFlags are the flags of every command that boots a guest.
type guestFlags struct{ guest.Options }

// again runs this command in a guest and ends with its exit code. Files are the paths that it reads, outputs those that
// it writes, and more is appended to the command line.
func (f *guestFlags) again(ctx context.Context, seed uint64, files, outputs []string, more ...string) error {
	return ended(f.Again(
		ctx, guest.Command{Args: slices.Concat(os.Args[1:], more), Seed: seed, Files: files, Outputs: outputs}))
}

// ended returns the error for the exit code of a command that ran in a guest.
func ended(code int, err error) error {
	if err != nil || code == 0 {
		return err
	}
	return exit{code: code}
}
