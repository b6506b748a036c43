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

func judgeCommand() *cobra.Command {
	var scheme, report, at, ports string
	var qps, params []string
	var output outputFlags
	var known waiverFlag
	var device waivers.Device
	c := &cobra.Command{
		Use:   "judge FOLDER|FILE...|-",
		Short: "Judge a run folder, a trace.ndjson or any pcap or pcapng files",
		Long:  pipeHelp,
		Args:  cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := oneOf(c, "color"); err != nil {
				return usage(err)
			}
			if known := slices.Sorted(maps.Keys(registry.Schemes())); scheme != "" && !slices.Contains(known, scheme) {
				return usage(fmt.Errorf("--scheme %q: want one of %s", scheme, strings.Join(known, ", ")))
			}
			tap, err := recording.ParseTap(at)
			if err != nil {
				return usage(fmt.Errorf("--tap %w", err))
			}
			list, err := known.read()
			if err != nil {
				return usage(err)
			}
			stated, err := attributes.Parse(qps, params, registry.Schemes()[cmp.Or(scheme, run.ForeignScheme)])
			if err != nil {
				return usage(err)
			}
			result, err := run.Judge(c.Context(), run.JudgeOptions{Path: args[0], More: args[1:], Tap: tap, QPs: stated,
				Ports: ports, Waivers: list, Device: device, Rules: rules.All(), Scheme: scheme,
				Schemes: registry.Schemes(),
				Command: build.CommandLine(), Version: build.Version(), Commit: build.Commit(), Report: report})
			if err != nil {
				return unread(err)
			}
			return printResult(result, &output, nil)
		},
	}
	c.Flags().StringVar(&scheme, "scheme", "", "recovery scheme whose rules apply, such as gbn (default: that of the "+
		"implementation, gbn for a foreign capture)")
	c.Flags().StringVar(&at, "tap", "auto", "where a capture of another program was taken: auto, requester, "+
		"responder, between, or an IP address")
	c.Flags().StringVar(&ports, "counters", "", "counters of the switch ports that were mirrored into the captures, "+
		"which certify that these are complete")
	c.Flags().StringArrayVar(&qps, "qp", nil, "attributes of the QPs in a capture of another program: "+
		"'[ADDRESS[/QPN]] NAME=VALUE…'; may be repeated")
	c.Flags().StringArrayVar(&params, "param", nil, "with --qp: parameter of the scheme, name=value; may be repeated")
	c.Flags().StringVar(&report, "report", "", "also write an HTML report to this file")
	c.Flags().BoolVar(&output.json, "json", false, jsonHelp)
	colorFlag(c, &output.color)
	known.define(c)
	c.Flags().StringSliceVar(&device.Names, "device", nil,
		"names of the devices at the ends in waivers, such as rxe (default: their names in the trace)")
	c.Flags().StringVar(&device.Kernel, "kernel", "",
		"version of the kernel that the device is a part of, for waivers, such as 6.1.0-56-amd64")
	complete(c, "tap", recording.TapWords...)
	complete(c, "scheme", slices.Sorted(maps.Keys(registry.Schemes()))...)
	return c
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
