package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/attributes"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/build"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/fault"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/registry"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/run"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules"
	"github.com/rdma-gauntlet/gauntlet/conformance/waivers"
	"github.com/rdma-gauntlet/gauntlet/harness/recording"
)

// judgeFlags are the flags of judge.
type judgeFlags struct {
	scheme, report, tap, ports string
	qps, params                []string
	output                     outputFlags
	known                      waiverFlag
	device                     waivers.Device
}

func judgeCommand() *cobra.Command {
	f := &judgeFlags{}
	c := &cobra.Command{
		Use:   "judge FOLDER|FILE...|-",
		Short: "Judge a run folder, a trace.ndjson or any pcap or pcapng files",
		Long:  pipeHelp,
		Args:  cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := oneOf(c, "color"); err != nil {
				return usage(err)
			}
			o, err := f.options(args)
			if err != nil {
				return usage(err)
			}
			result, err := run.Judge(c.Context(), o)
			if err != nil {
				return unread(err)
			}
			return printResult(result, &f.output, nil)
		},
	}
	f.define(c)
	return c
}

// options returns the options that the flags give for judging the files of args.
func (f *judgeFlags) options(args []string) (o run.JudgeOptions, err error) {
	schemes := registry.Schemes()
	if known := slices.Sorted(maps.Keys(schemes)); f.scheme != "" && !slices.Contains(known, f.scheme) {
		return o, fmt.Errorf("--scheme %q: want one of %s", f.scheme, strings.Join(known, ", "))
	}
	o = run.JudgeOptions{Path: args[0], More: args[1:], Ports: f.ports, Device: f.device, Rules: rules.All(),
		Scheme: f.scheme, Schemes: schemes, Command: build.CommandLine(), Version: build.Version(),
		Commit: build.Commit(), Report: f.report}
	if o.Tap, err = recording.ParseTap(f.tap); err != nil {
		return o, fmt.Errorf("--tap %w", err)
	}
	if o.Waivers, err = f.known.read(); err != nil {
		return o, err
	}
	o.QPs, err = attributes.Parse(f.qps, f.params, schemes[cmp.Or(f.scheme, run.ForeignScheme)])
	return o, err
}

// define adds the flags to c.
func (f *judgeFlags) define(c *cobra.Command) {
	d := c.Flags()
	d.StringVar(&f.scheme, "scheme", "", "recovery scheme whose rules apply, such as gbn (default: that of the "+
		"implementation, gbn for a foreign capture)")
	d.StringVar(&f.tap, "tap", "auto", "where a capture of another program was taken: auto, requester, "+
		"responder, between, ports (of two taps), or an IP address")
	d.StringVar(&f.ports, "counters", "", "counters of the switch ports that were mirrored into the captures, "+
		"which certify that these are complete")
	d.StringArrayVar(&f.qps, "qp", nil, "attributes of the QPs in a capture of another program: "+
		"'[ADDRESS[/QPN]] NAME=VALUE…'; may be repeated")
	d.StringArrayVar(&f.params, "param", nil, "with --qp: parameter of the scheme, name=value; may be repeated")
	d.StringVar(&f.report, "report", "", "also write an HTML report to this file")
	d.BoolVar(&f.output.json, "json", false, jsonHelp)
	colorFlag(c, &f.output.color)
	f.known.define(c)
	d.StringSliceVar(&f.device.Names, "device", nil,
		"names of the devices at the ends in waivers, such as rxe (default: their names in the trace)")
	d.StringVar(&f.device.Kernel, "kernel", "",
		"version of the kernel that the device is a part of, for waivers, such as 6.1.0-56-amd64")
	complete(c, "tap", recording.TapWords...)
	complete(c, "scheme", slices.Sorted(maps.Keys(registry.Schemes()))...)
}

// pipeHelp explains the forms in which a trace can be read.
const pipeHelp = `A trace can come through a pipe, or as - from standard input: a capture or a trace.ndjson, of 16 GiB
at most, which is kept in the folder of temporary files while it is read. One that cannot be read is
exit code 2.`

// unread is the error of a command that reads a trace: usage when the trace cannot be read, or the user asked for
// something impossible.
func unread(err error) error {
	if errors.As(err, new(*run.Unreadable)) || fault.Of(err) == fault.User {
		return usage(err)
	}
	return broken(err)
}

func ladderCommand() *cobra.Command {
	o := run.LadderOptions{}
	c := &cobra.Command{
		Use:   "ladder FOLDER|FILE|-",
		Short: "Draw a trace as a ladder of packets",
		Long:  "Draw a trace as a ladder of packets.\n\n" + pipeHelp,
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			o.Path = args[0]
			return unread(run.Ladder(c.Context(), stdout, o))
		},
	}
	c.Flags().IntVar(&o.Conn, "conn", 0, "connection to draw, -1 for all")
	c.Flags().Uint64Var(&o.From, "from", 0, "index of the first packet record")
	c.Flags().IntVar(&o.Count, "count", 200, "packet records to draw")
	c.Flags().BoolVar(&o.Absolute, "absolute", false, "print PSNs as they are, not relative to the first")
	c.Flags().BoolVar(&o.Everything, "all", false, "print every attribute, and placements, timers and counters")
	return c
}
