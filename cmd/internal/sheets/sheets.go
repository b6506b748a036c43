// Package sheets collects datasheets: it probes implementations, reads traces and saved sheets, and prints all sheets
// or the difference of two. Package perf/datasheet derives a sheet from a trace, and package run makes the runs.
package sheets

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/document"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/fault"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/run"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules/ctr"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/impls/all"
	"github.com/rdma-gauntlet/gauntlet/perf/datasheet"
)

// Options select and format the sheets.
type Options struct {
	Params []string // parameters of implementations, as name=value
	Device string   // only the device with this name; "" for every device
	Diff   bool     // compare two names: traces are not combined
	JSON   bool
}

// Collect returns the sheets of all names. A name is that of an implementation, a trace, a run folder or a file of
// sheets. With Diff there must be two names.
func (o *Options) Collect(ctx context.Context, names []string) (out []*datasheet.Sheet, err error) {
	params, err := o.check(names)
	if err != nil {
		return nil, fault.Usage(err)
	}
	for _, group := range o.groups(names) {
		found, err := read(ctx, group, params)
		if err != nil {
			return nil, err
		}
		out = append(out, slices.DeleteFunc(found, func(s *datasheet.Sheet) bool {
			return o.Device != "" && s.Device != o.Device
		})...)
	}
	if o.Diff && len(out) != 2 {
		return nil, fault.Usage(fmt.Errorf(
			"--diff: the traces show %d devices; choose one of each with --device", len(out)))
	}
	return out, nil
}

// check checks the names, and parses the parameters.
func (o *Options) check(names []string) (engine.Params, error) {
	params := engine.Params{}
	for _, p := range o.Params {
		name, value, ok := strings.Cut(p, "=")
		if !ok {
			return nil, fmt.Errorf("--param %.60q: want name=value", p)
		}
		params[name] = value
	}
	switch {
	case len(names) == 0:
		return nil, fmt.Errorf("datasheet: name a trace, a run folder or an implementation: %s",
			strings.Join(all.Names(), " "))
	case slices.Contains(names[slices.Index(names, run.Standard)+1:], run.Standard):
		return nil, fmt.Errorf("datasheet: %s is there twice, and standard input can be read once", run.Standard)
	case o.Diff && len(names) != 2:
		return nil, fmt.Errorf("--diff: name two traces or implementations, not %d", len(names))
	}
	return params, nil
}

// groups combines traces, which show a device from several sides. With Diff it keeps them apart.
func (o *Options) groups(names []string) (out [][]string) {
	var traces []string
	for _, name := range names {
		if _, known := all.Find(name); known || o.Diff || strings.HasSuffix(name, ".json") {
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

// read returns the sheets of a group. A name of an implementation goes before a file of the same name, for which the
// user writes ./gbn.
func read(ctx context.Context, group []string, params engine.Params) ([]*datasheet.Sheet, error) {
	if impl, known := all.Find(group[0]); known {
		return run.Probe(ctx, impl, params)
	}
	for _, name := range group {
		if name == run.Standard {
			continue
		}
		if _, err := os.Stat(name); err != nil {
			return nil, &run.Unreadable{Name: name,
				Err: fmt.Errorf("datasheet: %.60q is neither a file nor an implementation; known: %s", name,
					strings.Join(all.Names(), " "))}
		}
	}
	return run.Sheets(ctx, ctr.Rules(), group...)
}

// Write prints the sheets, or with Diff the difference of two.
func (o *Options) Write(out io.Writer, sheets []*datasheet.Sheet) error {
	switch {
	case o.Diff && o.JSON:
		return document.JSON(out, datasheet.Diff(sheets[0], sheets[1]))
	case o.Diff:
		return datasheet.WriteDiff(out, sheets[0], sheets[1])
	case o.JSON:
		return document.JSON(out, sheets)
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
