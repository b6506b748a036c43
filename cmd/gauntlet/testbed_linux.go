package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/doctor"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/document"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/testbeds"
	"github.com/rdma-gauntlet/gauntlet/harness/testbed"
)

// testbedCommands are the commands about hosts with real devices.
func testbedCommands() []*cobra.Command {
	c := &cobra.Command{Use: "testbed", Short: "Check the hosts and cables of a lab with real devices"}
	c.AddCommand(testbedCheckCommand())
	return []*cobra.Command{c}
}

func testbedCheckCommand() *cobra.Command {
	var asJSON, keep bool
	c := &cobra.Command{
		Use:   "check FILE",
		Short: "Log in to each host of a testbed file, and check its device and its cable",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return checkTestbed(c.Context(), args[0], keep, asJSON)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print as JSON, with everything that the hosts report")
	keepFlag(c, &keep)
	return c
}

// checkTestbed prints the findings of a check. A host that is unfit for judging is an error of the lab.
func checkTestbed(ctx context.Context, file string, keep, asJSON bool) error {
	lab, err := testbed.ReadFile(file)
	if err != nil {
		return usage(err)
	}
	all := testbeds.Check(ctx, lab, testbeds.Options{Keep: keep})
	if ctx.Err() != nil {
		return exit{exitBroken, "testbed: interrupted"}
	}
	if asJSON {
		if err := document.JSON(stdout, all); err != nil {
			return broken(err)
		}
		return broken(testbeds.Failed(all))
	}
	var list []doctor.Finding
	for _, host := range all {
		for _, f := range host.Findings {
			f.Name = fmt.Sprintf("%s %s", host.Host, f.Name)
			list = append(list, f)
		}
	}
	if err := doctor.Print(stdout, list); err != nil {
		return broken(err)
	}
	return broken(testbeds.Failed(all))
}
