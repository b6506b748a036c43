package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/night"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/points"
	"github.com/rdma-gauntlet/gauntlet/harness/quote"
	"github.com/rdma-gauntlet/gauntlet/perf/history/store"
)

func storeCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "store",
		Short: "Keep the results of nights: add, merge, list, changes, export",
		Args:  cobra.NoArgs,
	}
	c.AddCommand(
		storeAddCommand(),
		storeMergeCommand(),
		storeListCommand(),
		storeChangesCommand(),
		storeExportCommand(),
	)
	return c
}

// warn writes a warning to standard error.
func warn(line string) { fmt.Fprintln(os.Stderr, "gauntlet:", quote.Line(line, quote.Sentence)) }

// contents reads a store, and warns about the files that it skips.
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
		Short: "Add results of run, matrix, conform, perf or gate to a store, and passports and logs of bisect",
		Args:  cobra.MinimumNArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			results, err := keepDocuments(c.Context(), args[0], args[1:])
			if err != nil || len(results) == 0 {
				return err
			}
			return addToStore(args[0], results, told)
		},
	}
	d := c.Flags()
	d.StringVar(
		&told.Night,
		"night",
		"",
		"day that the results are of, such as 2026-11-24 (default: on which they began, UTC)",
	)
	d.StringVar(
		&told.Commit,
		"commit",
		"",
		"commit that was measured (default: that of the tool in the results, else of this program)",
	)
	d.StringVar(&told.Host, "host", "", "name of the machine of the results (default: this one)")
	d.StringVar(&told.Kernel, "kernel", "", "kernel of that machine (default: that of the results, else of this one)")
	d.StringVar(&told.Firmware, "firmware", "", "firmware of the device (default: that of the results)")
	d.StringVar(&told.Run, "name", "", "name of a single run (default: the first digits of its Spec's hash)")
	d.StringVar(
		&told.Class,
		"class",
		"",
		"class of numbers in real time: noisy, or exact if the guest counted instructions",
	)
	d.StringVar(
		&told.Reference,
		"reference",
		"",
		"result of the pinned build, measured beside; noisy numbers are divided by its numbers",
	)
	return c
}

// keepDocuments copies the passports and the logs of bisect among some files to a store, and returns the other files.
func keepDocuments(ctx context.Context, dir string, files []string) (others []string, err error) {
	for _, file := range files {
		path, is, err := night.KeepFile(ctx, dir, file)
		switch {
		case err != nil:
			return nil, err
		case is:
			fmt.Fprintf(stdout, "%s: kept\n", path)
		default:
			others = append(others, file)
		}
	}
	return others, nil
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
		Short: "Copy the nights of other stores to a store",
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

// readable returns an error for folders that do not exist, so that nothing is copied before all have been found.
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
