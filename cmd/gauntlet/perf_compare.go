package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/rdma-gauntlet/gauntlet/perf/stats"
	"github.com/rdma-gauntlet/gauntlet/perf/suite"
	"github.com/rdma-gauntlet/gauntlet/reports/terminal"
)

func perfCompareCommand() *cobra.Command {
	var rule stats.Rule
	var asJSON bool
	var color string
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
			if !(rule.Confidence > 0.5 && rule.Confidence < 1) || !(rule.Margin >= 0 && rule.Margin < 1) {
				return usage(fmt.Errorf("--confidence %g, --margin %g: want 0.5 to 1, such as 0.95, and 0 to 1, such as 0.01", rule.Confidence, rule.Margin))
			}
			changes, err := compareFiles(files[0], files[1], rule)
			if err != nil {
				return usage(err)
			}
			if asJSON {
				err = encode(os.Stdout, changes)
			} else {
				err = terminal.Changes(os.Stdout, changes, terminal.Options{Color: colored(color, os.Stdout)})
			}
			switch {
			case err != nil:
				return exit{exitBroken, err.Error()}
			case changes.Count(stats.Regressed) > 0:
				return exit{code: exitFailure}
			}
			return nil
		},
	}
	d := c.Flags()
	d.Float64Var(&rule.Confidence, "confidence", 0.95, "of the interval of each number")
	d.Float64Var(&rule.Margin, "margin", 0.01, "relative change that is still the same")
	d.BoolVar(&asJSON, "json", false, "print as JSON")
	d.StringVar(&color, "color", "auto", "colours: auto (on a terminal), always or never")
	complete(c, "color", choices["color"]...)
	return c
}

// compareFiles reads both results and compares them.
func compareFiles(old, now string, rule stats.Rule) (*suite.Changes, error) {
	var results [2]*suite.Result
	for i, path := range []string{old, now} {
		p, err := readPerf(path)
		if err != nil {
			return nil, err
		}
		results[i] = p
	}
	return suite.Compare(results[0], results[1], rule)
}

// mostPerf bounds a file of results, in bytes; one of all claims with a thousand seeds is below it.
const mostPerf = 64 << 20

// readPerf reads what perf --json wrote.
func readPerf(path string) (*suite.Result, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("perf: %w", err)
	}
	if !info.Mode().IsRegular() || info.Size() > mostPerf {
		return nil, fmt.Errorf("perf: %s: want a file that perf --json wrote, of %d bytes at most", path, mostPerf)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("perf: %w", err)
	}
	var p suite.Result
	if err := json.Unmarshal(text, &p); err != nil {
		return nil, fmt.Errorf("perf: %s: %w; want what perf --json wrote", path, err)
	}
	switch {
	case p.Format != suite.FormatVersion:
		return nil, fmt.Errorf("perf: %s: format %d; this program reads %d", path, p.Format, suite.FormatVersion)
	case len(p.Claims) == 0:
		return nil, fmt.Errorf("perf: %s: no claims; want what perf --json wrote", path)
	}
	return &p, nil
}
