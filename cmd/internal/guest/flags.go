package guest

import (
	"github.com/spf13/cobra"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/lab"
)

// Define declares the flags of every command that boots a guest.
func (o *Options) Define(c *cobra.Command) {
	d := c.Flags()
	d.StringVar(&o.Kernel, "kernel", "", "lab: kernel image to boot, with --modules (default: the one fetched last)")
	d.StringVar(&o.Modules, "modules", "", "lab: folder of that kernel's modules, such as /lib/modules/6.1.0-56-amd64")
	d.BoolVar(&o.Deterministic, "deterministic", false,
		"lab: count instructions instead of time; the same command then gives the same bytes")
	d.IntVar(&o.Memory, "guest-memory", lab.DefaultMemory, "lab: memory of the guest in MiB")
	d.DurationVar(&o.Limit, "guest-limit", lab.DefaultLimit,
		"lab: end a guest that runs for longer, with --deterministic by its own clock")
	d.StringArrayVar(&o.With, "guest-with", nil,
		"lab: program by name, or file or folder by path, to copy to the guest; may be repeated")
	d.StringVar(&o.Console, "guest-console", "", "lab: write the kernel messages of the guest to this file")
}
