package main

import (
	"cmp"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/build"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/sbom"
)

func versionCommand() *cobra.Command {
	var bill bool
	c := &cobra.Command{
		Use:   "version [FILE]",
		Short: "Print the version, or the bill of materials of a program",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, files []string) error {
			switch {
			case bill:
				return usage(sbom.Write(stdout, cmp.Or(append(files, "")...)))
			case len(files) > 0:
				return usage(fmt.Errorf("unknown command %q for version; a file is for --sbom", files[0]))
			}
			fmt.Fprintf(
				c.OutOrStdout(),
				"gauntlet %s %s (%s %s/%s)\n",
				build.Version(),
				cmp.Or(build.Commit(), "unknown commit"),
				runtime.Version(),
				runtime.GOOS,
				runtime.GOARCH,
			)
			return nil
		},
	}
	const help = "print the bill of materials (CycloneDX) of this program, or of one in a file that Go has built"
	c.Flags().BoolVar(&bill, "sbom", false, help)
	return c
}
