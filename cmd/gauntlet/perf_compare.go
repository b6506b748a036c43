package main

import (
	"github.com/spf13/cobra"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/claims"
	"github.com/rdma-gauntlet/gauntlet/perf/stats"
	"github.com/rdma-gauntlet/gauntlet/reports/terminal"
)

func perfCompareCommand() *cobra.Command {
	var rule stats.Rule
	var output outputFlags
	c := &cobra.Command{
		Use:   "compare OLD NEW",
		Short: "Decide whether the numbers of two results of perf --json differ",
		Args:  cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, files []string) error {
			if err := oneOf(c, "color"); err != nil {
				return usage(err)
			}
			changes, err := claims.CompareFiles(files[0], files[1], rule)
			if err != nil {
				return usage(err)
			}
			switch err := show(changes, &output, terminal.Changes); {
			case err != nil:
				return broken(err)
			case changes.Count(stats.Regressed) > 0:
				return exit{code: exitFailure}
			}
			return nil
		},
	}
	d := c.Flags()
	d.Float64Var(&rule.Confidence, "confidence", 0.95, "confidence of the interval of each number")
	d.Float64Var(&rule.Margin, "margin", 0.01, "relative change that is tolerated")
	d.BoolVar(&output.json, "json", false, "print as JSON")
	colorFlag(c, &output.color)
	return c
}
