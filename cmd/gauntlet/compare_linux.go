package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/quantity"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/perf/link"
)

// compared are the links that are held against each other: one property each. The load keeps the line busy whatever is lost.
var compared = []struct{ name, lines string }{
	{"random 5 %", "loss A>B random p=5%"},
	{"gemodel 2 %, 25 %", "loss A>B gemodel p=2% r=25%"},
	{"4 states", "loss A>B state p13=2% p31=30% p32=10% p23=40% p14=0.5%"},
	{"jitter 2 ms", "link jitter=2ms"},
	{"queue of 20", "link A>B port=40M queue=20"},
}

// comparedBase is what all have in common. IRN sends on while packets are missing; its cap is raised above the queue, so that the
// queue is what limits.
const comparedBase = `impl irn irn
link rate=10M delay=10ms queue=1000
load write msg=64KiB count=60
qp qd=8
run limit=60s`

// linkMakers are the makers of links. The bench of the simulator is virtual time anywhere.
var linkMakers = []struct{ name, bench, link string }{
	{"netem", "lab", "netem"},
	{"relay", "lab", "relay"},
	{"sim", "sim", "auto"},
}

func labCompareCommand() *cobra.Command {
	var f guestFlags
	var seed uint64
	var asJSON bool
	c := &cobra.Command{
		Use:   "compare",
		Short: "Hold the kernel's netem, the relay and the simulator against each other",
		Long: `Run the same scenarios over the kernel's netem, the user-space relay and the simulated link, and print what each did to the
packets of one direction: loss, the lengths of loss runs, reordering, and the distribution of the one-way delay.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if elsewhere("lab") {
				return f.again(c.Context(), seed, nil, nil)
			}
			if asJSON {
				list := []*comparison{}
				err := compareAll(c.Context(), seed, func(one *comparison) error { list = append(list, one); return nil })
				return broken(errors.Join(err, encode(os.Stdout, list)))
			}
			fmt.Println(comparedHead)
			return broken(compareAll(c.Context(), seed, func(one *comparison) error { return printComparison(os.Stdout, one) }))
		},
	}
	f.define(c)
	c.Flags().Uint64Var(&seed, "seed", 1, "seed of every run")
	c.Flags().BoolVar(&asJSON, "json", false, "print the figures as JSON")
	return c
}

// comparison is one line of the table.
type comparison struct {
	Link    string `json:"link"`
	Carrier string `json:"carrier"`
	link.Figures
}

// compareAll makes all runs, and hands on what each one gave.
func compareAll(ctx context.Context, seed uint64, found func(*comparison) error) error {
	for _, l := range compared {
		for _, by := range linkMakers {
			s, err := scenario.Parse(strings.NewReader(fmt.Sprintf("seed %d\n%s\n%s\n", seed, comparedBase, l.lines)))
			if err != nil {
				return err
			}
			f, err := measured(ctx, s, by.bench, by.link)
			if err != nil {
				return fmt.Errorf("lab: compare %s on %s: %w", l.name, by.name, err)
			}
			if err := found(&comparison{l.name, by.name, f}); err != nil {
				return err
			}
		}
	}
	return nil
}

// measured runs a Spec and returns what the link did to what A sent.
func measured(ctx context.Context, s *scenario.Spec, where, by string) (link.Figures, error) {
	impls, err := implementations(s)
	if err != nil {
		return link.Figures{}, err
	}
	b, err := findBench(where, "")
	if err != nil {
		return link.Figures{}, err
	}
	path := link.NewPath(trace.A)
	_, err = b.Run(ctx, &bench.Job{Spec: s, Impls: impls, Bytes: true, Link: by,
		Open: func(trace.Header) (trace.Sink, error) { return path, nil }})
	return path.Figures(), err
}

// comparedHead and the lines of printComparison are the table. They are written one by one, since a run takes its time.
const comparedHead = "LINK               BY     PACKETS     LOST  MEAN RUN  RUNS OF 1, 2, 3, 4+      OVERTOOK  DELAY LEAST, 5 %, MEDIAN, 95 %, LONGEST"

func printComparison(w io.Writer, c *comparison) error {
	runs := make([]string, len(c.Runs))
	for i, r := range c.Runs {
		runs[i] = fmt.Sprintf("%3.0f %%", 100*r)
	}
	delays := make([]string, len(c.DelayNs))
	for i, d := range c.DelayNs {
		delays[i] = quantity.Duration(d)
	}
	_, err := fmt.Fprintf(w, "%-17s  %-5s  %7d  %5.2f %%  %8.2f  %-23s  %6.2f %%  %s\n", c.Link, c.Carrier, c.Sent, 100*c.Lost, c.MeanRun,
		strings.Join(runs, " "), 100*c.Overtook, strings.Join(delays, ", "))
	return err
}
