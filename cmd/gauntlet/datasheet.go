package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/run"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/sheets"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/impls/all"
)

// datasheetFlags are the flags of datasheet.
type datasheetFlags struct {
	options      sheets.Options
	impl, params []string
}

func datasheetCommand() *cobra.Command {
	var f datasheetFlags
	c := &cobra.Command{
		Use:   "datasheet [TRACE|RUN-FOLDER|SHEET.json|IMPL|-]...",
		Short: "Read off traces how devices behave: recovery, NAKs, timeouts, acknowledgements, window",
		Long: `Read off traces how devices behave: how they recover, how often and how fast they answer a gap, their timeouts and when
they give up, how they acknowledge, and how much they keep in flight. Only packets are looked at, so any capture of any
device will do; an implementation of this program is run through situations that show every property.

With --diff, print only what differs between two: two versions of a firmware, or a device and a scheme.

` + pipeHelp,
		Example: `  gauntlet datasheet --impl gbn
  gauntlet datasheet runs/20261121-034219-gbn-netns-d4df216b
  gauntlet datasheet --diff gbn irn
  gauntlet datasheet --device rxe runs/rxe/*/*
  gauntlet datasheet nic-v1.pcapng --json >v1.json; gauntlet datasheet --diff v1.json nic-v2.pcapng`,
		RunE: func(c *cobra.Command, args []string) error {
			return f.execute(c.Context(), stdout, append(args, f.impl...))
		},
	}
	d, o := c.Flags(), &f.options
	d.StringSliceVar(&f.impl, "impl", nil, "implementations, separated by commas (see: list impls)")
	d.StringArrayVar(&f.params, "param", nil, "parameter of the implementations, name=value; may be repeated")
	d.StringVar(&o.Device, "device", "", "only the device of this name")
	d.BoolVar(&o.Diff, "diff", false, "print what differs between two")
	d.BoolVar(&o.JSON, "json", false, "print as JSON")
	complete(c, "impl", all.Names()...)
	return c
}

// execute reads every sheet and prints them, or the difference of two.
func (f *datasheetFlags) execute(ctx context.Context, out io.Writer, names []string) (err error) {
	o := &f.options
	o.Params, err = f.given()
	switch {
	case err != nil:
		return usage(err)
	case len(names) == 0:
		return usage(fmt.Errorf("datasheet: name a trace, a run folder or an implementation: %s", strings.Join(all.Names(), " ")))
	case slices.Contains(names[slices.Index(names, run.Standard)+1:], run.Standard):
		return usage(fmt.Errorf("datasheet: %s is there twice, and standard input can be read once", run.Standard))
	case o.Diff && len(names) != 2:
		return usage(fmt.Errorf("--diff: name two traces or implementations, not %d", len(names)))
	}
	found, err := o.Collect(ctx, names)
	if err != nil {
		return unread(err)
	}
	if o.Diff && len(found) != 2 {
		return usage(fmt.Errorf("--diff: the traces show %d devices; choose one of each with --device", len(found)))
	}
	return broken(o.Write(out, found))
}

// given reads --param.
func (f *datasheetFlags) given() (engine.Params, error) {
	out := engine.Params{}
	for _, p := range f.params {
		name, value, ok := strings.Cut(p, "=")
		if !ok {
			return nil, fmt.Errorf("--param %.60q: want name=value", p)
		}
		out[name] = value
	}
	return out, nil
}
