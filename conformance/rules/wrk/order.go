package wrk

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

var everythingPosted = rule.Rule{
	ID: "WRK-POST-001", Level: rule.Must, Rests: validity.Sequence,
	Title:  "Every ordered request is posted, unless the QP failed before for a cause on the wire",
	Source: rule.Source{Ref: ours, Requirement: "An endpoint does all the work that it is given; a queue pair in error takes no more of it."},
	Needs:  rule.Assigned | rule.Completions, Sees: rule.Responses, Any: true, Stimulus: "work that is counted, and an endpoint that is idle",
	BlackBox: telling,
	New: func(c *rule.Context) rule.Check {
		b, f := newBook(c), causes{c: c}
		return rule.Check{
			Sight: f.sight,
			Event: func(e *trace.Event) {
				f.event(e)
				if e.Kind == trace.Post && c.Mine(e) {
					b.post(e)
				}
			},
			End: func(vtime.Time) {
				switch posted, total := b.counted(); {
				case posted == total && total > 0 && b.scripts() == 0, total == 0 && b.some && b.scripts() == 0 && b.ends():
					c.Met()
				case posted < total && c.Idle() && !f.excused() && (b.some || !c.Managed()):
					c.Failf(rule.Requester, "it is idle with %d of %d requests posted", posted, total)
				}
			},
		}
	},
}

// ends reports whether no series goes on without end.
func (b *book) ends() bool {
	for i := range b.list {
		if b.list[i].Count == 0 {
			return false
		}
	}
	return true
}

var postedAsOrdered = rule.Rule{
	ID: "WRK-POST-002", Level: rule.Must, Rests: validity.Sequence,
	Title:  "Operation, length, address, key and immediate of what is posted are those ordered, in the order ordered",
	Source: rule.Source{Ref: ours, Requirement: "Request k of a work line has the ID wr + k, and acts where the line says."},
	Needs:  rule.Assigned | rule.Completions, Any: true, Stimulus: "a request that is posted", BlackBox: telling,
	New: func(c *rule.Context) rule.Check {
		b := newBook(c)
		return rule.Check{Event: func(e *trace.Event) {
			if e.Kind != trace.Post || !c.Mine(e) {
				return
			}
			if _, wrong := b.post(e); wrong != "" {
				c.Failf(rule.Requester, "wr=%d %s", e.Body.ID, wrong)
			} else {
				c.Met()
			}
		}}
	},
}

var idleIsDone = rule.Rule{
	ID: "WRK-IDLE-001", Level: rule.Must, Rests: validity.Sequence,
	Title:  "An endpoint is idle only when all ordered work is done, or has failed with a reason",
	Source: rule.Source{Ref: ours, Requirement: "idle: all work has completed."},
	Needs:  rule.Assigned | rule.Completions, Sees: rule.Responses, Any: true, Stimulus: "an endpoint that is idle",
	BlackBox: telling,
	New: func(c *rule.Context) rule.Check {
		b, f := newBook(c), causes{c: c}
		var o open
		done := 0
		return rule.Check{
			Sight: f.sight,
			Event: func(e *trace.Event) {
				f.event(e)
				switch {
				case !c.Mine(e):
				case e.Kind == trace.Post:
					want, _ := b.post(e)
					o.post(e.Body.ID, want.Unsignal)
				case e.Kind == trace.CQE && o.complete(e.Body.ID, true) && e.Body.Status == engine.StatusSuccess:
					done++
				}
			},
			End: func(vtime.Time) {
				if !c.Idle() || f.excused() || len(b.list) == 0 || o.full || !b.some && c.Managed() {
					return
				}
				posted, total := b.counted()
				if n, oldest := o.owed(); n > 0 {
					c.Failf(rule.Requester, "it is idle with %d requests outstanding, the oldest wr=%d", n, oldest)
				} else if posted < total {
					c.Failf(rule.Requester, "it is idle with %d of %d requests done", done, total)
				} else if b.some {
					c.Met()
				}
			},
		}
	},
}
