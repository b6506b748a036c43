package pack

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

var sameEnd = judged(rule.Rule{
	ID: "PACK-INT-001", Level: rule.Must,
	Title:  "Memory, and the number and order of CQEs, are at the end as without the box",
	Source: rule.Source{Ref: ours, Requirement: "A transparent box changes times, but no results"},
	Needs:  rule.Completions | rule.Image, Stimulus: "random loss on the WAN", BlackBox: emulated,
}, func(p *path) check {
	f := finish{p: p}
	return check{sight: f.sight, event: f.event}
})

// finish compares the requests that Local posted with their completions, and judges the memory at the end.
type finish struct {
	p      *path
	posted []uint64 // IDs of requests not completed, oldest first
	lossy  bool     // the WAN lost a packet
}

// mostPosted bounds the requests remembered.
const mostPosted = 1 << 16

func (f *finish) sight(s *rule.Sight, _ where) {
	if s.Rec.Conn != f.p.c.Index && s.Rec.Fate == trace.Dropped {
		f.lossy = true
	}
}

func (f *finish) event(e *trace.Event) {
	c, onLAN := f.p.c, e.Conn == f.p.c.Index
	switch {
	case e.Kind == trace.Post && onLAN && e.Side == trace.A:
		if len(f.posted) < mostPosted {
			f.posted = append(f.posted, e.Body.ID)
		}
	case e.Kind == trace.CQE && onLAN && e.Body.Status == engine.StatusSuccess:
		f.completed(e.Body.ID)
	case e.Kind == trace.Memory && f.lossy:
		c.Met()
		if e.Value != 0 {
			c.Failf(rule.Responder, "%d bytes of memory at %v differ from those without the box (%s)", e.Value, e.Side, e.Name)
		}
	case e.Kind == trace.Count && f.p.ofBox(e) && e.Name == engine.BrokenPromise && f.lossy && !f.p.fatal:
		c.Failf(rule.Responder, "%d messages that Local got pseudo-ACKs of will not be executed", e.Value)
	}
}

// completed removes a request, and the unsignalled ones before it.
func (f *finish) completed(id uint64) {
	for i, x := range f.posted {
		if x == id {
			f.posted = f.posted[:copy(f.posted, f.posted[i+1:])]
			return
		}
	}
	if len(f.posted) < mostPosted {
		f.p.c.Failf(rule.Requester, "wr=%d completes out of order, or twice", id)
	}
}
