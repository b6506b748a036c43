package main

import (
	"cmp"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/build"
)

func versionCommand() *cobra.Command {
	return &cobra.Command{Use: "version", Short: "Print the version", Args: cobra.NoArgs, Run: func(c *cobra.Command, _ []string) {
		fmt.Fprintf(c.OutOrStdout(), "gauntlet %s %s (%s %s/%s)\n", build.Version(), cmp.Or(build.Commit(), "unknown commit"), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	}}
}
