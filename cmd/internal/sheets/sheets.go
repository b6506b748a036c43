// Package sheets gathers datasheets: it runs the implementations that are named, reads the traces and the saved sheets,
// and prints all of them or what differs between two. What is read off a trace is for perf/datasheet to say, and how a
// run is made for package run.
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

// Options say what of which sheets.
type Options struct {
	Params []string // of implementations, as name=value
	Device string   // only the device of this name; "" is every device
	Diff   bool     // two things are compared: traces are not put together
	JSON   bool
}

// Collect returns the sheets of all that is named. A name is that of an implementation, or of a trace, a run folder or
// a file of sheets. With Diff they are two.
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

// check looks at the names, and reads the parameters.
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

// groups puts traces together, which show a device from several sides; what is to be compared stays apart.
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

// read returns the sheets of a group. An implementation goes before a file, which can be written ./gbn.
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

// Write prints the sheets, or with Diff what differs between two.
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
