package party

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/contract"
	"github.com/rdma-gauntlet/gauntlet/harness/drive"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// Parties are the programs of a run. A device has none, and few paths have a middlebox.
type Parties struct {
	Ends [2]*Party // by side; nil at the end of a device
	Box  *Party    // nil without one
}

// All returns the programs that there are.
func (p *Parties) All() (list []*Party) {
	for _, e := range []*Party{p.Ends[trace.A], p.Ends[trace.B], p.Box} {
		if e != nil {
			list = append(list, e)
		}
	}
	return list
}

// Begin starts all programs at a time of CLOCK_MONOTONIC.
func (p *Parties) Begin(at int64) error {
	for _, e := range p.All() {
		if err := e.Begin(at); err != nil {
			return err
		}
	}
	return nil
}

// Idle reports whether no party has work left: a middlebox may still have to do work that was reported to A as done.
func (p *Parties) Idle() bool {
	return !slices.ContainsFunc(p.All(), func(e *Party) bool { return !e.Idle })
}

// Share returns the fraction of the endpoints' work that is done, from 0 to 1.
func (p *Parties) Share() float64 {
	share := 1.0
	for _, e := range p.Ends {
		if e != nil {
			share = min(share, e.Share)
		}
	}
	return share
}

// Tells reports whether all endpoints make a kind of report.
func (p *Parties) Tells(kind string) bool {
	return !slices.ContainsFunc(p.Ends[:], func(e *Party) bool {
		return e != nil && e.Caps != nil && !e.Caps.Tells(kind)
	})
}

// Unsaid takes from a header the reports of an end that was to leave a file of them and did not live to complete it:
// what is missing in it proves nothing.
func (p *Parties) Unsaid(h *trace.Header) {
	whole := h.Reports
	for side, e := range p.Ends {
		if e == nil || p.said(side) {
			continue
		}
		h.Reports = 0
		for i := range h.Conns {
			if p.said(1 - side) {
				h.Conns[i].Ends[1-side].Reports |= whole
			}
		}
	}
}

// said reports whether the file of an end has all that it reports, or that the end says its reports in lines.
func (p *Parties) said(side int) bool {
	e := p.Ends[side]
	return e != nil && e.Caps != nil && (!e.Caps.Tells("file") || e.End.Event == contract.SaysStopped)
}

// Silent reports whether an endpoint over datagrams does not say what it declares and loses.
func (p *Parties) Silent() bool {
	return slices.ContainsFunc(p.Ends[:], func(e *Party) bool {
		return e != nil && e.Caps != nil && !e.Caps.Tells("file") && !e.Caps.Tells("datagrams") &&
			slices.Contains(e.Caps.Declared(), engine.Unreliable)
	})
}

// Verify has each endpoint compare its memory with the requests of the other, and ends their reports.
func (p *Parties) Verify() error {
	if err := p.inDoubt(); err != nil {
		return err
	}
	for side, e := range p.Ends {
		if e == nil || !e.Caps.Tells("memory") {
			continue
		}
		verify := contract.Order{Op: contract.OpVerify}
		if peer := p.Ends[1-side]; peer != nil { // a device does not report its requests
			verify.Memory = peer.End.Memory
		}
		if _, err := e.Order(&verify, contract.SaysVerified); err != nil {
			return err
		}
	}
	if p.Box == nil {
		return nil
	}
	// the box has no memory, but its report ends here
	_, err := p.Box.Order(&contract.Order{Op: contract.OpVerify}, contract.SaysVerified)
	return err
}

// inDoubt marks the completions of A as uncertain if the box has broken a promise, before B compares its memory with
// them. The box reports this in its shared variables, as plan.BrokePromise.
func (p *Parties) inDoubt() error {
	if p.Box == nil || len(p.Box.Shared) == 0 {
		return nil
	}
	end := &p.Ends[trace.A].End
	var work [][]drive.Work
	if err := json.Unmarshal(end.Memory, &work); err != nil {
		return fmt.Errorf("netns: what A posted: %w", err)
	}
	for _, v := range p.Box.Shared {
		drive.Doubt(work[v.Value])
	}
	var err error
	end.Memory, err = json.Marshal(work)
	return err
}
