package wrk

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// ledger is the work of a requester: the orders, the posts, the requests outstanding, and the causes that excuse them.
type ledger struct {
	*book
	causes
	open open
	done int  // requests that succeeded
	lost bool // a request completed that was not outstanding
}

func newLedger(c *rule.Context) *ledger { return &ledger{book: newBook(c), causes: causes{c: c}} }

// event processes an event of the requester's side; all reports whether a completion stands for all requests before it.
func (l *ledger) event(e *trace.Event, all bool) {
	l.causes.event(e)
	l.lost = false
	switch {
	case !l.c.Mine(e):
	case e.Kind == trace.Post:
		want, _ := l.post(e)
		l.open.post(e.Body.ID, want.Unsignal)
	case e.Kind != trace.CQE:
	case !l.open.complete(e.Body.ID, all):
		l.lost = true
	case e.Body.Status == engine.StatusSuccess:
		l.done++
	}
}
