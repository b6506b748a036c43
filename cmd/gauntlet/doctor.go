package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/doctor"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/document"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/progress"
)

func doctorCommand() *cobra.Command {
	var asJSON, measured, keep bool
	var lab string
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Report which benches run on this machine, which link they will use, and why",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if lab != "" {
				return checkTestbed(c.Context(), lab, keep, asJSON)
			}
			bar := progress.New(os.Stderr, true)
			all := doctor.Examine(c.Context(), measured, bar.Show)
			bar.Done()
			if c.Context().Err() != nil {
				return exit{exitBroken, "doctor: interrupted"}
			}
			if asJSON {
				return document.JSON(c.OutOrStdout(), all)
			}
			return doctor.Print(c.OutOrStdout(), all)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	c.Flags().BoolVar(&measured, "measure", false,
		"measure the fastest link that this machine carries in real time; takes half a minute")
	c.Flags().StringVar(&lab, "testbed", "",
		"check the hosts and cables of this testbed file instead: testbed check FILE")
	keepFlag(c, &keep)
	return c
}
