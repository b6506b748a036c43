package matrix

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/run"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/units"
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// Units returns the cells in virtual time as units of work, and the function that runs one of them.
func (o *Options) Units() (all []units.Unit, one func(ctx context.Context, i int) (any, error)) {
	for i := range len(o.Rows) * len(o.Links) {
		all = append(all, o.unit(i))
	}
	silent := *o
	silent.Progress, silent.Done = nil, nil
	p := &progress{options: &silent, shares: make([]float64, len(all))}
	return all, func(ctx context.Context, i int) (any, error) { return o.made(ctx, i, p) }
}

// unit returns cell i as a unit of work, named by its Spec, its implementations and the waivers.
func (o *Options) unit(i int) units.Unit {
	row, link := &o.Rows[i/len(o.Links)], o.Links[i%len(o.Links)]
	text, cost := "", 1.0
	if s, err := o.spec(row, link); err != nil {
		text = err.Error()
	} else {
		text, cost = s.String(), run.ExpectedPackets(s, row.Impls)
	}
	if row.Broken != nil {
		text += row.Broken.Error()
	}
	waivers, _ := json.Marshal(o.Waivers) // a list of plain strings cannot fail
	return units.New("cell", row.Name+" over "+link.Name, cost,
		row.Name, row.Ends[0], row.Ends[1], row.Unfit, link.Name, text, string(waivers))
}

// made runs cell i and returns it. A cell that was interrupted, or that the harness broke, is an error.
func (o *Options) made(ctx context.Context, i int, p *progress) (*model.Cell, error) {
	c := o.cell(ctx, i, p)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case c.Status == rule.Error.String():
		return nil, errors.New(cmp.Or(c.Reason, c.Status))
	}
	c.Wall = 0
	return &c, nil
}

// kept returns the stored result of cell i, or runs it.
func (o *Options) kept(ctx context.Context, i int, p *progress) model.Cell {
	if o.Kept == nil {
		return o.cell(ctx, i, p)
	}
	c, err := units.Kept(o.Kept, o.unit(i), func() (*model.Cell, error) { return o.made(ctx, i, p) })
	if err == nil {
		return *c
	}
	row, link := &o.Rows[i/len(o.Links)], o.Links[i%len(o.Links)]
	reason := err.Error()
	if errors.Is(err, context.Canceled) {
		reason = "interrupted"
	}
	return model.Cell{Impl: row.Name, Ends: row.Ends, Link: link.Name, Status: rule.Error.String(), Reason: reason}
}

// Divisible returns an error when the options do not allow that several machines share the cells. One machine runs all
// broken engines.
func (o *Options) Divisible(hunt bool) error {
	switch {
	case o.Name != "sim":
		return fmt.Errorf("--bench %s, --units: cells in real time are of one machine; leave one out", o.Name)
	case hunt:
		return errors.New("--broken, --units: broken engines are run by one machine; leave one out")
	}
	return nil
}
