package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/night"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

func siteCommand() *cobra.Command {
	var out, of string
	c := &cobra.Command{
		Use:   "site STORE",
		Short: "Write a store of nights as static pages: tonight, all series, changes, failures, devices, a feed",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return writeSite(c.Context(), args[0], out, of)
		},
	}
	c.Flags().StringVar(&out, "out", "site", "folder of the pages")
	c.Flags().StringVar(&of, "report", "", "folder of the newest night's report, which tells what was not run")
	return c
}

func writeSite(ctx context.Context, store, out, of string) error {
	var tonight *model.Night
	if of != "" {
		text, err := os.ReadFile(filepath.Join(of, "night.json"))
		if err == nil {
			err = json.Unmarshal(text, &tonight)
		}
		if err != nil {
			return usage(fmt.Errorf("site: --report: %w", err))
		}
	}
	c, err := contents(store)
	if err != nil {
		return err
	}
	n, skipped, err := night.Site(ctx, out, store, c.Nights, tonight)
	for _, s := range skipped {
		warn(s.String())
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%s: %d files\n", filepath.Join(out, "index.html"), n)
	return nil
}
