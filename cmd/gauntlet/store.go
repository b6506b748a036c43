package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"time"

	"github.com/spf13/cobra"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/document"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/night"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/points"
	"github.com/rdma-gauntlet/gauntlet/harness/quote"
	"github.com/rdma-gauntlet/gauntlet/perf/history"
	"github.com/rdma-gauntlet/gauntlet/perf/history/store"
	"github.com/rdma-gauntlet/gauntlet/reports/csv"
	"github.com/rdma-gauntlet/gauntlet/reports/markdown"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
	"github.com/rdma-gauntlet/gauntlet/reports/terminal"
)

func storeCommand() *cobra.Command {
	c := &cobra.Command{Use: "store", Short: "Keep the results of nights: add, merge, list, changes, export", Args: cobra.NoArgs}
	c.AddCommand(storeAddCommand(), storeMergeCommand(), storeListCommand(), storeChangesCommand(), storeExportCommand())
	return c
}

// warn says something on standard error that does not end the command.
func warn(line string) { fmt.Fprintln(os.Stderr, "gauntlet:", quote.Line(line, quote.Sentence)) }

// contents reads a store, and names what is skipped.
func contents(dir string) (*store.Contents, error) {
	c, err := store.Read(dir)
	if err != nil {
		return nil, usage(err)
	}
	for _, s := range c.Skipped {
		warn(s.String())
	}
	return c, nil
}

func storeAddCommand() *cobra.Command {
	var told points.Told
	c := &cobra.Command{
		Use:   "add STORE RESULT...",
		Short: "Add results of run, matrix, conform, perf or gate to a store",
		Args:  cobra.MinimumNArgs(2),
		RunE:  func(c *cobra.Command, args []string) error { return addToStore(args[0], args[1:], told) },
	}
	d := c.Flags()
	d.StringVar(&told.Night, "night", "", "day that the results are of, such as 2026-11-24 (default: on which they began, UTC)")
	d.StringVar(&told.Commit, "commit", "", "of what was measured (default: that of the tool in the results, else of this program)")
	d.StringVar(&told.Host, "host", "", "name of the machine that measured (default: this one)")
	d.StringVar(&told.Kernel, "kernel", "", "its kernel (default: that of the results, else of this machine)")
	d.StringVar(&told.Firmware, "firmware", "", "of the device (default: that of the results)")
	d.StringVar(&told.Run, "name", "", "of a single run (default: the first digits of its Spec's hash)")
	d.StringVar(&told.Class, "class", "", "of numbers in real time: noisy, or exact where the guest counted instructions")
	d.StringVar(&told.Reference, "reference", "", "result of the pinned build, measured beside; noisy numbers are shares of its")
	return c
}

func addToStore(dir string, results []string, told points.Told) error {
	n, err := points.Gather(results, told)
	if err != nil {
		return usage(err)
	}
	if c, err := store.Read(dir); err == nil {
		if late := points.Backwards(n, c.Nights); late != "" {
			warn(late)
		}
	} else if !errors.Is(err, os.ErrNotExist) {
		return usage(err)
	}
	path, err := store.Add(dir, n)
	if err != nil {
		return broken(err)
	}
	gaps := 0
	for i := range n.Points {
		if n.Points[i].Gap() {
			gaps++
		}
	}
	fmt.Fprintf(stdout, "%s: %d points, %d gaps\n", path, len(n.Points)-gaps, gaps)
	return nil
}

func storeMergeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "merge STORE FROM...",
		Short: "Copy into a store what others have",
		Args:  cobra.MinimumNArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := readable(args[1:]); err != nil {
				return usage(err)
			}
			m, err := store.Merge(args[0], args[1:])
			for _, s := range m.Skipped {
				warn(s.String())
			}
			if err != nil {
				return broken(err)
			}
			fmt.Fprintf(stdout, "%s: %d copied, %d were there\n", args[0], m.Copied, m.Had)
			if n := len(store.Damaged(m.Skipped)); n > 0 {
				return broken(fmt.Errorf("store: %d damaged files were left out; fetch them again", n))
			}
			return nil
		},
	}
}

// readable refuses folders that are not there before anything is copied.
func readable(dirs []string) error {
	for _, dir := range dirs {
		info, err := os.Stat(dir)
		if err != nil {
			return fmt.Errorf("store: %w", err)
		}
		if !info.IsDir() {
			return fmt.Errorf("store: %s: no folder", dir)
		}
	}
	return nil
}

// selection says which part of a store is shown.
type selection struct{ series, since string }

func (s *selection) define(c *cobra.Command) {
	c.Flags().StringVar(&s.series, "series", "", "only series that a regular expression matches")
	c.Flags().StringVar(&s.since, "since", "", "only nights from this day on, such as 2026-11-01")
}

// tracks reads the part of a store.
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
		Short: "Say what a night of a store changed",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := oneOf(c, "color"); err != nil {
				return usage(err)
			}
			held, err := contents(args[0])
			if err != nil {
				return err
			}
			n, err := night.Stored(held, args[0], day)
			if err != nil {
				return usage(err)
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

// showChanges prints what a night changed, and turns that into the exit code.
func showChanges(n *model.Night, page string, output *outputFlags) (err error) {
	if page != "" {
		err = document.File(page, func(w io.Writer) error { return markdown.Night(w, n) })
	}
	if err = errors.Join(err, show(n, output, terminal.Night)); err != nil {
		return broken(err)
	}
	return settled(n.Status)
}
