package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/claims"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/conform"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/registry"
	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/dut"
	"github.com/rdma-gauntlet/gauntlet/harness/rate"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/perf/atlas"
)

// benchHelp explains --bench.
const benchHelp = "where to run: sim (virtual time), netns (real packets between network namespaces), container (the " +
	"same around containers), lab (the same on a guest's kernel) or remote (a device on a host of a --testbed)"

// outputFlags are the flags of every command that prints a result.
type outputFlags struct {
	json, quiet bool
	color       string
}

// define declares the flags; quietHelp is the help of --quiet.
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

// dilation is the value of --dilate; 0 is auto.
type dilation struct{ k *vtime.Dilation }

// dilateFlag declares --dilate.
func dilateFlag(c *cobra.Command, k *vtime.Dilation) {
	c.Flags().Var(dilation{k}, "dilate", "netns, container, lab: real seconds per second of the Spec, a power of "+
		"two up to 1024, so that a slow or busy machine keeps up; auto takes the factor that this machine needs now, "+
		"twice as much after an attempt that was late, and four times in the last attempt")
	complete(c, "dilate", auto, "1", "2", "4", "8", "16", "32", "64")
}

// auto is the value of a flag that leaves the choice to the bench.
const auto = "auto"

// Set implements pflag.Value.
func (f dilation) Set(s string) (err error) {
	if *f.k = 0; s != auto {
		*f.k, err = vtime.ParseDilation(s)
	}
	return err
}

// String implements pflag.Value.
func (f dilation) String() string {
	if f.k == nil || *f.k == 0 {
		return auto
	}
	return f.k.String()
}

// Type implements pflag.Value.
func (f dilation) Type() string { return "K" }

// hostedFlags select the host of the device under test.
type hostedFlags struct{ registry.Hosted }

// define declares the flags.
func (f *hostedFlags) define(c *cobra.Command) {
	c.Flags().StringVar(&f.File, "testbed", "", "remote: the file of the hosts and cables; see: help testbed")
	keepFlag(c, &f.Keep)
}

// choose selects the remote bench when a testbed is given and no bench.
func (f *hostedFlags) choose(c *cobra.Command, bench *string) {
	if f.File != "" && !c.Flags().Changed("bench") {
		*bench = "remote"
	}
}

// judge opens the host of a testbed, whose device is then judged in both its roles.
func (f *hostedFlags) judge(ctx context.Context, o *conform.Options) (done func() error, err error) {
	if o.Impl != "" {
		return nil, usage(fmt.Errorf(
			"--bench remote and --impl %s: a device is judged in both its roles; leave --impl out", o.Impl))
	}
	o.Hosted = f.Hosted
	o.Hosted.Host = o.Device
	b, devices, done, err := registry.OpenHosted(ctx, o.Hosted, 1)
	if err != nil {
		return nil, err
	}
	o.Device, o.Open = devices[0], func() (bench.Bench, error) { return b, nil }
	return done, nil
}

// open makes the remote bench around the given number of devices.
func (f *hostedFlags) open(ctx context.Context, b *registry.OnDemand, devices int) (done func() error, err error) {
	if devices == 0 {
		return nil, usage(fmt.Errorf("--bench remote: no device; have %s or %s among the implementations of --impl",
			dut.Name, dut.RNIC))
	}
	b.Bench, _, done, err = registry.OpenHosted(ctx, f.Hosted, devices)
	return done, err
}

// keepFlag declares --keep.
func keepFlag(c *cobra.Command, keep *bool) {
	c.Flags().BoolVar(keep, "keep", false,
		"leave this program on the testbed's hosts, by its hash in ~/.cache/gauntlet, so that it need "+
			"not be copied the next time")
}

// effortFlags declares the flags of an Effort other than --seeds.
func effortFlags(c *cobra.Command, e *claims.Effort) {
	c.Flags().IntVar(&e.Jobs, "jobs", runtime.GOMAXPROCS(0), "runs at once")
	c.Flags().Float64Var(&e.Confidence, "confidence", 0.95, "confidence of the intervals")
}

// linkHelp explains the values of --link.
const linkHelp = "auto, netem (the kernel's), ebpf (faults and losses in the kernel) or relay (user space)"

// choices are the values of flags that have few.
var choices = map[string][]string{
	"bench":  registry.Benches(),
	"cc":     append([]string{"none"}, rate.Names()...),
	"codec":  {"auto", "on", "off"},
	"color":  {"auto", "always", "never"},
	"format": {"csv", "gobench"},
	"law":    {string(atlas.Geometric), string(atlas.Fixed)},
	"link":   {"auto", "netem", "ebpf", "relay"},
	"op":     {"write", "write-imm", "send", "send-imm", "read"},
	"mtu":    {"256", "512", "1024", "2048", "4096"},
}

// complete offers the values of a flag to the shell.
func complete(c *cobra.Command, flag string, values ...string) {
	// the error means that c has no such flag
	_ = c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// completeChoices offers the values of flags that have few.
func completeChoices(c *cobra.Command, flags ...string) {
	for _, flag := range flags {
		complete(c, flag, choices[flag]...)
	}
}

// onlyOn has the flags that apply to one bench only.
var onlyOn = map[string]string{"expose": "netns", "codec": "sim", "kernel": "lab", "modules": "lab",
	"deterministic": "lab", "guest-memory": "lab",
	"testbed": "remote", "keep": "remote", "guest-limit": "lab", "guest-console": "lab", "guest-with": "lab"}

// onBench checks the flags few, which have few values, and those that do not apply to the bench.
func onBench(c *cobra.Command, bench string, few ...string) error {
	if err := oneOf(c, few...); err != nil {
		return err
	}
	if c.Flags().Changed("link") && bench == "sim" {
		return fmt.Errorf("--link: means nothing on the sim bench; add --bench netns or leave it out")
	}
	if c.Flags().Changed("dilate") && (bench == "sim" || bench == "remote") {
		return fmt.Errorf("--dilate: means nothing on the %s bench; add --bench netns or leave it out", bench)
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

// limitFlags are the flags that bound the runs of a command. Zero keeps the value of the Spec, or a default.
type limitFlags struct {
	limit, still *time.Duration
}

// longestRun bounds both flags, in which a longer time is a mistake.
const longestRun = 24 * time.Hour

// limitsHelp explains the limits in the help of run.
const limitsHelp = `A run ends when all its work is done, and at the latest at --limit, in the time of the Spec. In real
time it also ends after --no-progress in which neither end sent, received, posted or completed anything
while work was left. A program or device that is not done then, crashes, or breaks its contract is at
fault: FAIL, exit code 1, with its unfinished work and the verdicts up to then. In virtual time so is an
engine that never finishes. A failure of the harness is an ERROR, exit code 3.`

// define declares the flags, whose values are stored in the options of the command.
func (f *limitFlags) define(c *cobra.Command, limit, still *time.Duration) {
	f.limit, f.still = limit, still
	c.Flags().DurationVar(limit, "limit", 0, "time limit of a run, in the time of the Spec (default: that of the "+
		"Spec, else 1h, or 1h more than --duration)")
	c.Flags().DurationVar(still, "no-progress", 0, "netns, container, lab: end a run in which nothing moves for "+
		"this long (default: four times what all retries take, 10s at least)")
}

// check checks the flags for a bench.
func (f *limitFlags) check(c *cobra.Command, bench string) error {
	for flag, value := range map[string]time.Duration{"limit": *f.limit, "no-progress": *f.still} {
		if c.Flags().Changed(flag) && (value <= 0 || value > longestRun) {
			return fmt.Errorf("--%s %s: want more than 0s and at most %s", flag, value, longestRun)
		}
	}
	if c.Flags().Changed("no-progress") && bench == "sim" {
		return fmt.Errorf("--no-progress: means nothing on the sim bench, which ends when nothing can move; add " +
			"--bench netns or leave it out")
	}
	return nil
}
