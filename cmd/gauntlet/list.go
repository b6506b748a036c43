package main

import (
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/document"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/listing"
)

func listCommand() *cobra.Command {
	c := &cobra.Command{Use: "list", Short: "List implementations, profiles, rules, scenarios, link models, links of " +
		"the matrix or targets of perf", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() }}
	for _, l := range listing.All() {
		var asJSON bool
		sub := &cobra.Command{Use: l.Name, Short: l.Short, Args: cobra.NoArgs,
			RunE: func(c *cobra.Command, _ []string) error {
				if !asJSON {
					w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
					l.Print(w)
					return w.Flush()
				}
				return document.JSON(c.OutOrStdout(), l.Rows())
			}}
		sub.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
		c.AddCommand(sub)
	}
	return c
}
