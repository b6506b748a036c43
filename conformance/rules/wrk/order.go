package wrk

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

var everythingPosted = rule.Rule{
	ID: "WRK-POST-001", Level: rule.Must, Rests: validity.Sequence,
	Title: "Every ordered request is posted, unless the QP failed before for a cause on the wire",
	Source: rule.Source{Ref: ours,
		Requirement: "An endpoint does all the work that it is given; a queue pair in error takes no more of it."},
	Needs: rule.Assigned | rule.Completions, Sees: rule.Responses, Any: true,
	Stimulus: "work that is counted, and an endpoint that is idle",
	BlackBox: telling,
	New: func(c *rule.Context) rule.Check {
		l := newLedger(c)
		return rule.Check{
			Sight: l.sight,
			Event: func(e *trace.Event) { l.event(e, true) },
			End: func(vtime.Time) {
				switch posted, total := l.counted(); {
				case posted == total && total > 0 && l.scripts() == 0, total == 0 && l.some &&
					l.scripts() == 0 && l.ends():
					c.Met()
				case posted < total && c.Idle() && !l.excused() && (l.some || !c.Managed()):
					c.Failf(rule.Requester, "the endpoint is idle with %d of %d requests posted", posted, total)
				}
			},
		}
	},
}

// ends reports whether every series ends.
func (b *book) ends() bool {
	return !slices.ContainsFunc(b.list, func(s rule.Series) bool { return s.Count == 0 })
}

var postedAsOrdered = rule.Rule{
	ID: "WRK-POST-002", Level: rule.Must, Rests: validity.Sequence,
	Title: "Operation, length, address, key and immediate of what is posted are those ordered, in the order ordered",
	Source: rule.Source{Ref: ours,
		Requirement: "Request k of a work line has the ID wr + k, and acts where the line says."},
	Needs: rule.Assigned | rule.Completions, Any: true, Stimulus: "a request that is posted", BlackBox: telling,
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
		l := newLedger(c)
		return rule.Check{
			Sight: l.sight,
			Event: func(e *trace.Event) { l.event(e, true) },
			End: func(vtime.Time) {
				if !c.Idle() || l.excused() || len(l.list) == 0 || l.open.full || !l.some && c.Managed() {
					return
				}
				posted, total := l.counted()
				if n, oldest := l.open.owed(); n > 0 {
					c.Failf(rule.Requester, "the endpoint is idle with %d requests outstanding, the oldest wr=%d", n, oldest)
				} else if posted < total {
					c.Failf(rule.Requester, "the endpoint is idle with %d of %d requests done", l.done, total)
				} else if l.some {
					c.Met()
				}
			},
		}
	},
}

var sentInOrder = rule.Rule{
	ID: "WRK-WIRE-002", Level: rule.Must, Rests: validity.Sequence,
	Title: "Requests of one QP appear in the order in which they were posted",
	Source: rule.Source{Ref: "IBTA 10.8.2", Requirement: "Work requests of a send queue are started in the " +
		"order in which they were submitted."},
	Needs: rule.TapRequester | rule.Attributes | rule.Assigned, Sees: rule.RequestOut,
	Stimulus: "requests that are sent, and are known to have been posted or ordered", BlackBox: telling,
	New: func(c *rule.Context) rule.Check {
		return judgeSending(c, func(d *departure, wrong string, later bool) {
			switch {
			case wrong == "":
				c.Met()
			case later:
				c.FailAt(d.at, d.record, rule.Requester, "a request is sent before one that was posted earlier: "+wrong)
			}
		})
	},
}
