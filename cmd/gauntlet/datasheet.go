package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/run"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/impls/all"
	"github.com/rdma-gauntlet/gauntlet/perf/datasheet"
)

// datasheetFlags are the flags of datasheet.
type datasheetFlags struct {
	impl   []string
	params []string
	device string
	diff   bool
	json   bool
}

func datasheetCommand() *cobra.Command {
	var f datasheetFlags
	c := &cobra.Command{
		Use:   "datasheet [TRACE|RUN-FOLDER|SHEET.json|IMPL]...",
		Short: "Read off traces how devices behave: recovery, NAKs, timeouts, acknowledgements, window",
		Long: `Read off traces how devices behave: how they recover, how often and how fast they answer a gap, their timeouts and when
they give up, how they acknowledge, and how much they keep in flight. Only packets are looked at, so any capture of any
device will do; an implementation of this program is run through situations that show every property.

With --diff, print only what differs between two: two versions of a firmware, or a device and a scheme.`,
		Example: `  gauntlet datasheet --impl gbn
  gauntlet datasheet runs/20261121-034219-gbn-netns-d4df216b
  gauntlet datasheet --diff gbn irn
  gauntlet datasheet --device rxe runs/rxe/*/*
  gauntlet datasheet nic-v1.pcapng --json >v1.json; gauntlet datasheet --diff v1.json nic-v2.pcapng`,
		RunE: func(c *cobra.Command, args []string) error {
			return f.execute(c.Context(), os.Stdout, append(args, f.impl...))
		},
	}
	d := c.Flags()
	d.StringSliceVar(&f.impl, "impl", nil, "implementations, separated by commas (see: list impls)")
	d.StringArrayVar(&f.params, "param", nil, "parameter of the implementations, name=value; may be repeated")
	d.StringVar(&f.device, "device", "", "only the device of this name")
	d.BoolVar(&f.diff, "diff", false, "print what differs between two")
	d.BoolVar(&f.json, "json", false, "print as JSON")
	complete(c, "impl", all.Names()...)
	return c
}

// execute reads every sheet and prints them, or the difference of two.
func (f *datasheetFlags) execute(ctx context.Context, out io.Writer, names []string) error {
	params, err := f.given()
	switch {
	case err != nil:
		return usage(err)
	case len(names) == 0:
		return usage(fmt.Errorf("datasheet: name a trace, a run folder or an implementation: %s", strings.Join(all.Names(), " ")))
	case f.diff && len(names) != 2:
		return usage(fmt.Errorf("--diff: name two traces or implementations, not %d", len(names)))
	}
	sheets, err := f.collect(ctx, names, params)
	if err != nil {
		return exit{exitBroken, err.Error()}
	}
	if f.diff && len(sheets) != 2 {
		return usage(fmt.Errorf("--diff: the traces show %d devices; choose one of each with --device", len(sheets)))
	}
	if err := f.print(out, sheets); err != nil {
		return exit{exitBroken, err.Error()}
	}
	return nil
}

// collect returns the sheets of all that is named.
func (f *datasheetFlags) collect(ctx context.Context, names []string, params engine.Params) (out []*datasheet.Sheet, err error) {
	for _, group := range f.groups(names) {
		found, err := f.read(ctx, group, params)
		if err != nil {
			return nil, err
		}
		out = append(out, slices.DeleteFunc(found, func(s *datasheet.Sheet) bool { return f.device != "" && s.Device != f.device })...)
	}
	return out, nil
}

// groups puts traces together, which show a device from several sides; what is to be compared stays apart.
func (f *datasheetFlags) groups(names []string) (out [][]string) {
	var traces []string
	for _, name := range names {
		if _, known := all.Find(name); known || f.diff || strings.HasSuffix(name, ".json") {
			out = append(out, []string{name})
		} else {
			traces = append(traces, name)
		}
	}
	if len(traces) > 0 {
		out = append(out, traces)
	}
	return out
}

// read returns the sheets of a group. An implementation goes before a file, which can be written ./gbn.
func (f *datasheetFlags) read(ctx context.Context, group []string, params engine.Params) ([]*datasheet.Sheet, error) {
	if impl, known := all.Find(group[0]); known {
		return run.Probe(ctx, impl, params)
	}
	for _, name := range group {
		if _, err := os.Stat(name); err != nil {
			return nil, fmt.Errorf("datasheet: %.60q is neither a file nor an implementation; known: %s", name, strings.Join(all.Names(), " "))
		}
	}
	return run.Sheets(group...)
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

// print writes what was asked for.
func (f *datasheetFlags) print(out io.Writer, sheets []*datasheet.Sheet) error {
	switch {
	case f.diff && f.json:
		return encode(out, datasheet.Diff(sheets[0], sheets[1]))
	case f.diff:
		return datasheet.WriteDiff(out, sheets[0], sheets[1])
	case f.json:
		return encode(out, sheets)
	}
	for i, s := range sheets {
		if i > 0 {
			fmt.Fprintln(out)
		}
		if err := s.Write(out); err != nil {
			return err
		}
	}
	return nil
}
