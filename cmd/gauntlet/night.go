package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/build"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/document"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/night"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/progress"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
	"github.com/rdma-gauntlet/gauntlet/reports/terminal"
)

func nightCommand() *cobra.Command {
	var o night.Options
	var output outputFlags
	c := &cobra.Command{
		Use:   "night PLAN",
		Short: "Run a plan, add what it measured to a store, and say what changed since the nights before",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, files []string) error {
			if err := oneOf(c, "color"); err != nil {
				return usage(err)
			}
			o.Path = files[0]
			return runNight(c.Context(), o, &output)
		},
	}
	d := c.Flags()
	d.StringVar(&o.Folder, "out", "", "report folder (default: a new one below runs/)")
	d.StringVar(&o.Night, "night", "", "day that the night is of, such as 2026-11-24 (default: today, UTC)")
	d.StringVar(
		&o.Commit,
		"commit",
		"",
		"of what is measured (default: that which is checked out where the plan is, or without a subject "+
			"that of this program)",
	)
	output.define(c, "no progress")
	return c
}

// runNight runs a plan, and turns what changed into the exit code.
func runNight(ctx context.Context, o night.Options, output *outputFlags) (err error) {
	if o.Plan, err = night.ReadPlan(o.Path); err != nil {
		return usage(err)
	}
	o.Folder, o.Command = document.NewFolder(o.Folder, "night"), build.CommandLine()
	s, err := night.New(ctx, o)
	if err != nil {
		return err
	}
	if err := s.Open(); err != nil {
		return err
	}
	bar := progress.New(os.Stderr, !output.quiet)
	n, err := s.Run(ctx, bar.Show)
	bar.Done()
	if err != nil {
		return err
	}
	if err := errors.Join(night.Write(n), show(n, output, terminal.Night)); err != nil {
		return broken(fmt.Errorf("night: %s: %w", filepath.Clean(n.Folder), err))
	}
	if code := model.ExitCode(n.Status); code != 0 {
		return exit{code: code}
	}
	return nil
}
