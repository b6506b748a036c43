package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/build"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/claims"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/document"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/progress"
	"github.com/rdma-gauntlet/gauntlet/impls/all"
	"github.com/rdma-gauntlet/gauntlet/perf/atlas"
	"github.com/rdma-gauntlet/gauntlet/reports/terminal"
)

// atlasFlags are the flags of atlas.
type atlasFlags struct {
	grid   claims.Grid
	effort claims.Effort
	margin float64
	out    string
	output outputFlags
	shard  shardFlags
}

func atlasCommand() *cobra.Command {
	var f atlasFlags
	c := &cobra.Command{
		Use:   "atlas",
		Short: "Map which recovery is best over which link, and by how much",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return f.execute(c) },
	}
	d, g := c.Flags(), &f.grid
	d.StringSliceVar(&g.RTTs, "rtt", []string{"1ms", "5ms", "20ms", "80ms"}, "round-trip times")
	d.StringSliceVar(&g.Losses, "loss", []string{"1e-4", "1e-3", "1e-2", "5e-2"},
		"loss ratios, in both directions")
	d.IntSliceVar(&g.Bursts, "burst", []int{1, 4, 16}, "packets lost in a row: a loss of 1e-3 in bursts of "+
		"4 is a burst every 4000 packets")
	d.StringVar(&g.Law, "law", string(atlas.Geometric), "lengths of bursts: geometric (--burst is the mean) or fixed")
	d.StringSliceVar(&g.Rates, "rate", []string{"1G"}, "line rates")
	d.StringSliceVar(&g.Transports, "impl", []string{"gbn", "gobackone", "fasr", "irn", "lowar", "lowar:r=64:c=8"},
		"transports, the simplest first; impl:name=value sets a parameter")
	d.IntVar(&f.effort.Seeds, "seeds", 5, "seeds of each cell")
	effortFlags(c, &f.effort)
	d.Float64Var(&f.margin, "margin", 0.02, "relative difference in goodput below which transports count as equal")
	d.StringVar(&f.out, "out", "", "folder of the map (default: a new one below runs/)")
	f.shard.define(c)
	f.output.define(c, "no progress")
	completeChoices(c, "law")
	complete(c, "impl", all.Names()...)
	return c
}

// execute measures the map, writes it and prints it.
func (f *atlasFlags) execute(c *cobra.Command) error {
	if err := oneOf(c, "color", "law"); err != nil {
		return usage(err)
	}
	if err := f.shard.open(); err != nil {
		return err
	}
	f.effort.Kept = f.shard.folder
	bar := progress.New(os.Stderr, !f.output.quiet)
	plan, err := claims.Atlas(&f.grid, f.effort, f.margin, bar.Show)
	if err != nil {
		return usage(err)
	}
	if ended, err := f.shard.numbers(c, plan.Runs().Specs(), f.effort.Jobs, bar); ended || err != nil {
		return err
	}
	bar.Say(fmt.Sprintf("%d runs, %d at once", len(plan.Runs().Specs()), f.effort.Jobs))
	m := plan.Measure(c.Context())
	bar.Done()
	m.Version, m.Commit, m.Command = build.Version(), build.Commit(), build.CommandLine()
	f.shard.provenance(&m.Command, &m.Started, &m.Wall)
	return f.conclude(c.Context(), m)
}

// conclude writes the files of the map, prints it, and returns the error for the exit code.
func (f *atlasFlags) conclude(ctx context.Context, m *atlas.Map) error {
	dir := document.NewFolder(f.out, "atlas")
	err := errors.Join(claims.WriteAtlas(dir, m), show(m, &f.output, terminal.Atlas))
	if !f.output.json {
		fmt.Printf("\nmap: %s\n", filepath.Join(dir, "atlas.html"))
	}
	switch {
	case err != nil:
		return broken(err)
	case ctx.Err() != nil:
		return exit{exitBroken, fmt.Sprintf("atlas: interrupted, %d of %d cells were not finished",
			m.Left(), len(m.Cells))}
	case m.Left() > 0:
		return exit{code: exitBroken}
	}
	return nil
}
