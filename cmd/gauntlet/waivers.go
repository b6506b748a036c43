package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/run"
	"github.com/rdma-gauntlet/gauntlet/conformance/waivers"
)

// waiverFlag is the value of --waivers.
type waiverFlag struct{ names []string }

func (f *waiverFlag) define(c *cobra.Command) {
	c.Flags().StringArrayVar(&f.names, "waivers", nil,
		"file of known failures, or the name of one that comes with the program; may be repeated")
	complete(c, "waivers", waivers.Names()...)
}

// read returns the waivers of all files, and warns about each that has expired and has no effect any more.
func (f *waiverFlag) read() ([]waivers.Waiver, error) {
	all, err := waivers.ReadAll(f.names)
	for _, w := range waivers.Expired(all, run.Today()) {
		fmt.Fprintf(os.Stderr, "gauntlet: the waiver of %s for %s expired on %s: %s must renew it "+
			"or see to the device\n", w.Rule, w.Impl, w.Expires, w.Owner)
	}
	return all, err
}
