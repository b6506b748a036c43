package main

import (
	"context"
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/bisect"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/document"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/night"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/progress"
	"github.com/rdma-gauntlet/gauntlet/perf/history"
	"github.com/rdma-gauntlet/gauntlet/reports/terminal"
)

func bisectCommand() *cobra.Command {
	var o bisect.Options
	var store string
	var output outputFlags
	c := &cobra.Command{
		Use:   "bisect GOOD BAD --build COMMAND -- COMMAND...",
		Short: "Find the commit that changed an exact number or verdict",
		Args:  cobra.MinimumNArgs(3),
		RunE: func(c *cobra.Command, args []string) error {
			if err := oneOf(c, "color"); err != nil {
				return usage(err)
			}
			o.Good, o.Bad, o.Args = args[0], args[1], args[2:]
			return runBisect(c.Context(), o, store, &output)
		},
	}
	d := c.Flags()
	d.StringVar(
		&o.Command,
		"build",
		"",
		"command for a shell: builds the subject from a checkout, in which it begins, to $GAUNTLET_PROGRAM",
	)
	d.StringVar(&o.Repo, "repo", ".", "folder of the repository")
	d.StringVar(
		&o.Subject.Name,
		"subject",
		"",
		"program that is built, as the command names it, such as exec:build/transport (default: this program)",
	)
	d.StringArrayVar(&o.Series, "series", nil, "name of a number or verdict (default: all that differ between the two)")
	d.StringVar(&store, "store", "", "store whose nights may know commits, so that these are not run again; "+
		"it keeps the log, for the page of the change")
	d.StringVar(&o.Folder, "out", "", "folder of the runs (default: a new one below runs/)")
	output.define(c, "no progress")
	if err := c.MarkFlagRequired("build"); err != nil {
		panic(err) // the flag is not declared: a mistake above
	}
	return c
}

// runBisect searches for the commit and prints the bisection.
func runBisect(ctx context.Context, o bisect.Options, from string, output *outputFlags) error {
	o.Folder = document.NewFolder(o.Folder, "bisect")
	if from != "" {
		c, err := contents(from)
		if err != nil {
			return err
		}
		o.Known = map[string][]history.Point{}
		for i := range c.Nights {
			n := &c.Nights[i]
			o.Known[n.Commit] = append(o.Known[n.Commit], n.Points...)
		}
	}
	bar := progress.New(os.Stderr, !output.quiet)
	o.Progress = bar.Show
	b, err := bisect.Run(ctx, o)
	bar.Done()
	if b != nil && b.Last != "" {
		if from != "" {
			err = errors.Join(err, broken(night.KeepBisection(from, b)))
		}
		if err := show(b, output, terminal.Bisection); err != nil {
			return broken(err)
		}
	}
	return err
}
