package main

import (
	"fmt"

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
			if err := selfcheck.Known(args); err != nil {
				return usage(err)
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
			if failed := selfcheck.Failed(verdicts); err == nil && failed > 0 { // the harness is at fault
				err = broken(fmt.Errorf("selfcheck: %d rules are broken, by the harness", failed))
			}
			return err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the verdicts as JSON")
	return c
}
