package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"
)

func versionCommand() *cobra.Command {
	return &cobra.Command{Use: "version", Short: "Print the version", Args: cobra.NoArgs, Run: func(c *cobra.Command, _ []string) {
		fmt.Fprintf(c.OutOrStdout(), "gauntlet %s %s (%s %s/%s)\n", version(), orUnknown(commit()), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	}}
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown commit"
	}
	return s
}
