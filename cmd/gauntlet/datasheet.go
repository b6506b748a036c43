package main

import (
	"github.com/spf13/cobra"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/sheets"
	"github.com/rdma-gauntlet/gauntlet/impls/all"
)

func datasheetCommand() *cobra.Command {
	var o sheets.Options
	var impls []string
	c := &cobra.Command{
		Use:   "datasheet [TRACE|RUN-FOLDER|SHEET.json|IMPL|-]...",
		Short: "Describe devices from their traces: recovery, NAKs, timeouts, acknowledgements, window",
		Long:  pipeHelp,
		RunE: func(c *cobra.Command, args []string) error {
			found, err := o.Collect(c.Context(), append(args, impls...))
			if err != nil {
				return unread(err)
			}
			return broken(o.Write(stdout, found))
		},
	}
	d := c.Flags()
	d.StringSliceVar(&impls, "impl", nil, "implementations, separated by commas (see: list impls)")
	d.StringArrayVar(&o.Params, "param", nil, "parameter of the implementations, name=value; may be repeated")
	d.StringVar(&o.Device, "device", "", "only the device of this name")
	d.BoolVar(&o.Diff, "diff", false, "print the differences between two")
	d.BoolVar(&o.JSON, "json", false, "print as JSON")
	complete(c, "impl", all.Names()...)
	return c
}
