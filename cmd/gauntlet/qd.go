package main

import (
	"github.com/spf13/cobra"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/document"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/qd"
	"github.com/rdma-gauntlet/gauntlet/impls/openapn"
)

func qdCommand() *cobra.Command {
	var path qd.Path
	var asJSON bool
	c := &cobra.Command{
		Use:   "qd",
		Short: "Compute the queue depth that a path needs, its memory, and the throughput below it",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			p, err := qd.New(path)
			if err != nil {
				return usage(err)
			}
			if asJSON {
				return document.JSON(stdout, p)
			}
			return p.Print(stdout)
		},
	}
	d := c.Flags()
	d.StringVar(&path.RTT, "rtt", "1ms", "round-trip propagation delay; 100 km of fibre and back are 1ms")
	d.StringVar(&path.Rate, "rate", "100G", "line rate, layer 1")
	d.IntVar(&path.MTU, "mtu", 4096, "path MTU: 256, 512, 1024, 2048 or 4096")
	d.StringVar(&path.Message, "msg", "", "message size (default: one MTU)")
	d.IntVar(&path.Cap, "cap", openapn.DeviceCap, "deepest send queue of the device")
	d.BoolVar(&asJSON, "json", false, "print as JSON")
	completeChoices(c, "mtu")
	return c
}
