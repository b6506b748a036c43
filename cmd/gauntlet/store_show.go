package main

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"time"

	"github.com/spf13/cobra"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/document"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/night"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/points"
	"github.com/rdma-gauntlet/gauntlet/harness/quote"
	"github.com/rdma-gauntlet/gauntlet/perf/history"
	"github.com/rdma-gauntlet/gauntlet/reports/csv"
	"github.com/rdma-gauntlet/gauntlet/reports/markdown"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
	"github.com/rdma-gauntlet/gauntlet/reports/terminal"
)

// selection selects series and nights of a store.
type selection struct{ series, since string }

func (s *selection) define(c *cobra.Command) {
	c.Flags().StringVar(&s.series, "series", "", "only series that a regular expression matches")
	c.Flags().StringVar(&s.since, "since", "", "only nights from this day on, such as 2026-11-01")
}

// tracks reads the selected part of a store, and the number of all its nights.
func (s *selection) tracks(dir string) ([]history.Track, int, error) {
	wanted, err := regexp.Compile(s.series)
	if err != nil {
		return nil, 0, usage(fmt.Errorf("--series: %w", err))
	}
	if _, err := time.Parse(time.DateOnly, s.since); s.since != "" && err != nil {
		return nil, 0, usage(fmt.Errorf("--since %s: want a day such as 2026-11-01", quote.Line(s.since, quote.Name)))
	}
	c, err := contents(dir)
	if err != nil {
		return nil, 0, err
	}
	return points.Select(history.Tracks(c.Nights), wanted.MatchString, s.since), len(c.Nights), nil
}

func storeListCommand() *cobra.Command {
	var part selection
	var output outputFlags
	c := &cobra.Command{
		Use:   "list STORE",
		Short: "List the series of a store",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := oneOf(c, "color"); err != nil {
				return usage(err)
			}
			tracks, nights, err := part.tracks(args[0])
			if err != nil {
				return err
			}
			return broken(show(model.NewTracks(args[0], nights, tracks), &output, terminal.Tracks))
		},
	}
	part.define(c)
	c.Flags().BoolVar(&output.json, "json", false, jsonHelp)
	colorFlag(c, &output.color)
	return c
}

func storeExportCommand() *cobra.Command {
	var part selection
	var format string
	c := &cobra.Command{
		Use:   "export STORE",
		Short: "Print the points of a store as CSV, or in Go's benchmark format",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := oneOf(c, "format"); err != nil {
				return usage(err)
			}
			tracks, _, err := part.tracks(args[0])
			if err != nil {
				return err
			}
			if format == "gobench" {
				return broken(points.GoBench(stdout, tracks))
			}
			return broken(csv.Tracks(stdout, tracks))
		},
	}
	part.define(c)
	c.Flags().StringVar(&format, "format", "csv", "csv, or gobench for benchstat")
	completeChoices(c, "format")
	return c
}

func storeChangesCommand() *cobra.Command {
	var day, page string
	var output outputFlags
	c := &cobra.Command{
		Use:   "changes STORE",
		Short: "Print the changes of a night of a store",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := oneOf(c, "color"); err != nil {
				return usage(err)
			}
			held, err := contents(args[0])
			if err != nil {
				return err
			}
			n, err := night.Stored(c.Context(), held, args[0], day)
			if err != nil {
				return err
			}
			return showChanges(n, page, &output)
		},
	}
	d := c.Flags()
	d.StringVar(&day, "night", "", "the day, such as 2026-11-24 (default: the newest)")
	d.StringVar(&page, "markdown", "", "also write a page in markdown to this file")
	d.BoolVar(&output.json, "json", false, jsonHelp)
	colorFlag(c, &output.color)
	return c
}

// showChanges prints the changes of a night, and derives the exit code from them.
func showChanges(n *model.Night, page string, output *outputFlags) (err error) {
	if page != "" {
		err = document.File(page, func(w io.Writer) error { return markdown.Night(w, n) })
	}
	if err = errors.Join(err, show(n, output, terminal.Night)); err != nil {
		return broken(err)
	}
	return settled(n.Status)
}
