package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/document"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/selfcheck"
)

func selfcheckCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "selfcheck [RULE...]",
		Short: "Check the judge itself: the META rules",
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return selfcheck.IDs(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(c *cobra.Command, args []string) error {
			for _, id := range args {
				if !slices.Contains(selfcheck.IDs(), id) {
					return usage(fmt.Errorf("selfcheck %s: want one of %s", id, strings.Join(selfcheck.IDs(), " ")))
				}
			}
			verdicts, err := selfcheck.Run(c.Context(), args)
			if err != nil {
				return exit{exitBroken, fmt.Sprintf("selfcheck: %v", err)}
			}
			if asJSON {
				err = document.JSON(c.OutOrStdout(), verdicts)
			} else {
				err = selfcheck.Print(c.OutOrStdout(), verdicts)
			}
			if failed := selfcheck.Failed(verdicts); err == nil && failed > 0 { // which is the harness's fault
				err = broken(fmt.Errorf("selfcheck: %d rules are broken, by the harness", failed))
			}
			return err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the verdicts as JSON")
	return c
}
