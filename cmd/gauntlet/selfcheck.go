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
		Long: `Check the judge itself by experiments in virtual time, on runs of every implementation: that a seed repeats to the byte, that each
rule catches an engine that is wrong on purpose and lets the right one pass, that a rule says nothing of a trace in which nothing
happens, and that verdicts depend neither on the clock nor on the files that they are read from.

Without a RULE all of them. META-MUT-001 runs some hundred broken engines, which takes half a minute.`,
		Example: "  gauntlet selfcheck\n  gauntlet selfcheck META-DET-001 META-CLK-001",
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
