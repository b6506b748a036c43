package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
)

// limitFlags bound the runs of a command. Zero leaves what the Spec says, or a default.
type limitFlags struct {
	limit, still *time.Duration
}

// longestRun bounds both; a longer time is a mistyped one.
const longestRun = 24 * time.Hour

// limitsHelp explains them where a run is the subject.
const limitsHelp = `A run ends when all its work is done, and at --limit at the latest, in its own time. In real time it also ends when nothing has
moved for --no-progress while work is left: nothing was sent, received, posted or completed by either end. A program or device that
is not done then, crashes, or does not keep its contract is to blame: FAIL, exit code 1, with what it had left and the verdicts over
what was seen. In virtual time so is an engine that never comes to its end. What breaks in the harness is an ERROR, exit code 3.`

// define declares the flags. They are kept where the options of the command are.
func (f *limitFlags) define(c *cobra.Command, limit, still *time.Duration) {
	f.limit, f.still = limit, still
	c.Flags().DurationVar(limit, "limit", 0, "end a run that is not done by then, in its own time (default: what the Spec says, else 1h, or 1h more than --duration)")
	c.Flags().DurationVar(still, "no-progress", 0, "netns, container, lab: end a run in which nothing moves for so long (default: four times what all retries take, 10s at least)")
}

// check looks at them.
func (f *limitFlags) check(c *cobra.Command, bench string) error {
	for flag, value := range map[string]time.Duration{"limit": *f.limit, "no-progress": *f.still} {
		if c.Flags().Changed(flag) && (value <= 0 || value > longestRun) {
			return fmt.Errorf("--%s %s: want more than 0s and at most %s", flag, value, longestRun)
		}
	}
	if c.Flags().Changed("no-progress") && bench == "sim" {
		return fmt.Errorf("--no-progress: means nothing on the sim bench, which ends when nothing can move; add --bench netns or leave it out")
	}
	return nil
}
