package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/units"
)

func mergeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "merge DIR… [-- FLAGS]",
		Short: "Merge the results of shards: the same bytes as from one machine",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			dirs, more := args, []string{}
			if n := c.ArgsLenAtDash(); n >= 0 {
				dirs, more = args[:n], args[n:]
			}
			if len(dirs) == 0 {
				return usage(fmt.Errorf("merge: name the folders of the shards, before the --"))
			}
			return merge(c, dirs, more)
		},
	}
}

// merge checks that the units are complete, and runs the command of the shards on their results.
func merge(c *cobra.Command, dirs, more []string) error {
	whole, err := units.Merge(dirs)
	var all, twice int
	if err == nil {
		all, twice, err = units.Nested(dirs)
	}
	if err != nil {
		return broken(err)
	}
	fmt.Fprintf(os.Stderr, "merge: %s: %d units, %d of them made twice with the same result\n",
		whole.CommandLine(), all+len(whole.Units), twice+whole.Twice)
	again, args := root(), whole.Command
	for _, dir := range dirs {
		args = append(args, "--units", dir)
	}
	again.SetArgs(append(args, more...))
	return again.ExecuteContext(c.Context())
}
