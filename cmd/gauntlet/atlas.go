package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/build"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/claims"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/progress"
	"github.com/rdma-gauntlet/gauntlet/impls/all"
	"github.com/rdma-gauntlet/gauntlet/perf/atlas"
	"github.com/rdma-gauntlet/gauntlet/perf/batch"
	"github.com/rdma-gauntlet/gauntlet/reports/terminal"
)

// atlasFlags are the flags of atlas.
type atlasFlags struct {
	grid               claims.Grid
	out, color         string
	seeds, jobs        int
	confidence, margin float64
	json, quiet        bool
}

func atlasCommand() *cobra.Command {
	var f atlasFlags
	c := &cobra.Command{
		Use:   "atlas",
		Short: "Map which recovery is best over which link, and by how much",
		Long: `Measure transports over a grid of links in virtual time, and draw for each link which of them has the most goodput, and how
much more than the next: which recovery should I buy for this link?

All transports meet the same fades and are compared seed by seed. Those that are not shown to be worse than the best by more
than --margin are tied. Of those within --margin of the best the map takes the one that --impl names first, so name the simplest
first. Each is configured for the path: windows of four bandwidth-delay products, a timer of three round trips.

The map goes to --out as atlas.html, atlas.svg, atlas.csv and atlas.json. An interrupt keeps the cells that are finished.`,
		Example: `  gauntlet atlas
  gauntlet atlas --rtt 40ms,80ms --loss 1e-5,1e-4,1e-3 --burst 1 --rate 10G --seeds 3
  gauntlet atlas --impl gbn,irn,lowar:r=8,lowar:r=64:c=8 --burst 1,8 --law fixed`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return f.execute(c) },
	}
	d, g := c.Flags(), &f.grid
	d.StringSliceVar(&g.RTTs, "rtt", []string{"1ms", "5ms", "20ms", "80ms"}, "round-trip times")
	d.StringSliceVar(&g.Losses, "loss", []string{"1e-4", "1e-3", "1e-2", "5e-2"}, "shares of the packets that are lost, both ways")
	d.IntSliceVar(&g.Bursts, "burst", []int{1, 4, 16}, "packets that are lost in a row: a loss of 1e-3 in bursts of 4 is a burst every 4000 packets")
	d.StringVar(&g.Law, "law", string(atlas.Geometric), "lengths of bursts: geometric (--burst is the mean) or fixed")
	d.StringSliceVar(&g.Rates, "rate", []string{"1G"}, "line rates")
	d.StringSliceVar(&g.Transports, "impl", []string{"gbn", "gobackone", "fasr", "irn", "lowar", "lowar:r=64:c=8"},
		"transports, the simplest first; impl:name=value sets a parameter")
	d.IntVar(&f.seeds, "seeds", 5, "seeds of each cell")
	d.IntVar(&f.jobs, "jobs", runtime.GOMAXPROCS(0), "runs at once")
	d.Float64Var(&f.confidence, "confidence", 0.95, "of the intervals")
	d.Float64Var(&f.margin, "margin", 0.02, "relative difference in goodput that matters")
	d.StringVar(&f.out, "out", "", "folder of the map (default: a new one below runs/)")
	d.BoolVar(&f.json, "json", false, jsonHelp)
	d.BoolVar(&f.quiet, "quiet", false, "no progress")
	d.StringVar(&f.color, "color", "auto", "colours: auto (on a terminal), always or never")
	completeChoices(c, "color", "law")
	complete(c, "impl", all.Names()...)
	return c
}

// execute measures, writes and prints.
func (f *atlasFlags) execute(c *cobra.Command) error {
	bar := progress.New(os.Stderr, !f.quiet)
	plan, err := f.plan(c, bar)
	if err != nil {
		return usage(err)
	}
	specs := plan.Runs().Specs()
	if err := claims.EnoughMemory(specs, f.jobs); err != nil {
		return usage(fmt.Errorf("atlas: %w", err))
	}
	bar.Say(fmt.Sprintf("%d runs, %d at once", len(specs), f.jobs))
	m := plan.Measure(c.Context())
	bar.Done()
	m.Version, m.Commit, m.Command = build.Version(), build.Commit(), commandLine()
	return f.conclude(c.Context(), m)
}

// plan reads the flags.
func (f *atlasFlags) plan(c *cobra.Command, bar *progress.Bar) (*atlas.Plan, error) {
	if err := oneOf(c, "color", "law"); err != nil {
		return nil, err
	}
	switch {
	case f.jobs < 1:
		return nil, fmt.Errorf("--jobs %d: want 1 or more", f.jobs)
	case !(f.confidence > 0.5 && f.confidence < 1) || !(f.margin >= 0 && f.margin < 1):
		return nil, fmt.Errorf("--confidence %g, --margin %g: want 0.5 to 1, such as 0.95, and 0 to 1, such as 0.02", f.confidence, f.margin)
	}
	o, err := f.grid.Options()
	if err != nil {
		return nil, err
	}
	o.Confidence, o.Margin = f.confidence, f.margin
	o.Batch = batch.Options{Seeds: f.seeds, Jobs: f.jobs, Run: claims.Measure, Cost: claims.Cost, Progress: bar.Show}
	return atlas.New(o)
}

// conclude writes the files and prints the map.
func (f *atlasFlags) conclude(ctx context.Context, m *atlas.Map) error {
	dir := newFolder(f.out, "atlas")
	err := errors.Join(claims.WriteAtlas(dir, m), show(m, f.json, f.color, terminal.Atlas))
	if !f.json {
		fmt.Printf("\nmap: %s\n", filepath.Join(dir, "atlas.html"))
	}
	switch {
	case err != nil:
		return broken(err)
	case ctx.Err() != nil:
		return exit{exitBroken, fmt.Sprintf("atlas: interrupted, %d of %d cells were not finished", m.Left(), len(m.Cells))}
	case m.Left() > 0:
		return exit{code: exitBroken}
	}
	return nil
}
