package main

import (
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/claims"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/registry"
	"github.com/rdma-gauntlet/gauntlet/harness/rate"
	"github.com/rdma-gauntlet/gauntlet/perf/atlas"
)

// benchHelp explains --bench.
const benchHelp = "where to run: sim (virtual time), netns (real packets between network namespaces), container (the same around containers) or lab (the same on a guest's kernel)"

// outputFlags are those of every command that shows a result.
type outputFlags struct {
	json, quiet bool
	color       string
}

// define declares them; quietHelp explains --quiet.
func (f *outputFlags) define(c *cobra.Command, quietHelp string) {
	c.Flags().BoolVar(&f.json, "json", false, jsonHelp)
	c.Flags().BoolVar(&f.quiet, "quiet", false, quietHelp)
	colorFlag(c, &f.color)
}

// colorFlag declares --color.
func colorFlag(c *cobra.Command, color *string) {
	c.Flags().StringVar(color, "color", "auto", "colours: auto (on a terminal), always or never")
	completeChoices(c, "color")
}

// effortFlags declares how many runs numbers are taken from, beside --seeds, and how sure they are to be.
func effortFlags(c *cobra.Command, e *claims.Effort) {
	c.Flags().IntVar(&e.Jobs, "jobs", runtime.GOMAXPROCS(0), "runs at once")
	c.Flags().Float64Var(&e.Confidence, "confidence", 0.95, "of the intervals")
}

// choices are the values of flags that have few.
var choices = map[string][]string{
	"bench": registry.Benches(),
	"cc":    append([]string{"none"}, rate.Names()...),
	"codec": {"auto", "on", "off"},
	"color": {"auto", "always", "never"},
	"law":   {string(atlas.Geometric), string(atlas.Fixed)},
	"link":  {"auto", "netem", "relay"},
	"op":    {"write", "write-imm", "send", "send-imm", "read"},
	"mtu":   {"256", "512", "1024", "2048", "4096"},
}

// complete offers the values of a flag to the shell.
func complete(c *cobra.Command, flag string, values ...string) {
	_ = c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)) // fails for a flag that is not there
}

// completeChoices offers the values of flags that have few.
func completeChoices(c *cobra.Command, flags ...string) {
	for _, flag := range flags {
		complete(c, flag, choices[flag]...)
	}
}

// onlyOn are the flags that mean something on one bench only.
var onlyOn = map[string]string{"expose": "netns", "codec": "sim", "kernel": "lab", "modules": "lab", "deterministic": "lab", "guest-memory": "lab",
	"guest-limit": "lab", "guest-console": "lab", "guest-with": "lab"}

// onBench checks flags that have few values, and all that mean something on some benches only.
func onBench(c *cobra.Command, bench string, few ...string) error {
	if err := oneOf(c, few...); err != nil {
		return err
	}
	if c.Flags().Changed("link") && bench == "sim" {
		return fmt.Errorf("--link: means nothing on the sim bench; add --bench netns or leave it out")
	}
	for flag, only := range onlyOn {
		if c.Flags().Changed(flag) && bench != only {
			return fmt.Errorf("--%s: means nothing on the %s bench; add --bench %s or leave it out", flag, bench, only)
		}
	}
	return nil
}

// oneOf checks flags that have few values.
func oneOf(c *cobra.Command, flags ...string) error {
	for _, flag := range flags {
		if value := c.Flag(flag).Value.String(); !slices.Contains(choices[flag], value) {
			return fmt.Errorf("--%s %q: want one of %s", flag, value, strings.Join(choices[flag], ", "))
		}
	}
	return nil
}

// given leaves out the names that are not set.
func given(names ...string) []string {
	return slices.DeleteFunc(names, func(n string) bool { return n == "" })
}
