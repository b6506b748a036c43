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
		Long: `Compare two results of "gauntlet perf --json" number by number: improved, same, regressed or inconclusive.

Runs of the same scenario and seed have met the same losses, so the numbers are compared seed by seed. A number is the same
when the interval of its relative change lies within the margin, and improved or regressed when it leaves out zero. The
interval is that of the median by order statistics: whatever the distribution, an unchanged number raises a false alarm with
probability 1 - confidence at most. A number that has no random part is compared exactly.

The exit code is 1 when a number has regressed.`,
		Example: `  gauntlet perf --class A,V --json > old.json
  gauntlet perf compare old.json new.json --margin 0.02`,
		Args: cobra.ExactArgs(2),
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
	d.Float64Var(&rule.Confidence, "confidence", 0.95, "of the interval of each number")
	d.Float64Var(&rule.Margin, "margin", 0.01, "relative change that is still the same")
	d.BoolVar(&output.json, "json", false, "print as JSON")
	colorFlag(c, &output.color)
	return c
}
