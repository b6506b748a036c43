package selective

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Reports collects the variables that one end reports after one input in a State.
type Reports[State any] struct {
	Order []string                       // names of the variables in the order in which an end reports them
	Set   func(s *State, e *trace.Event) // sets one variable in s
	Step  func(prev, cur *State)         // is called after each input with the states before and after it
	prev  State                          // state before the latest input
	Cur   State                          // state after the latest input

	c     *rule.Context
	mine  bool       // the end is the requester's
	at    vtime.Time // of the latest report
	dirty bool       // Step has not been called for Cur
	rank  int        // index in Order of the latest report
}

// NewReports returns the Reports of the requester's end (mine) or of the responder's, with begin as the first state.
func NewReports[State any](c *rule.Context, mine bool, begin State) *Reports[State] {
	return &Reports[State]{c: c, mine: mine, prev: begin, Cur: begin}
}

// Event records a variable. A variable that does not follow the latest one in Order belongs to the next input, even at
// the same time.
func (r *Reports[_]) Event(e *trace.Event) {
	if r.dirty && e.At != r.at {
		r.Flush()
	}
	rank := slices.Index(r.Order, e.Name)
	if e.Kind != trace.Probe || r.c.Mine(e) != r.mine || rank < 0 {
		return
	}
	if r.dirty && rank <= r.rank {
		r.Flush()
	}
	r.Set(&r.Cur, e)
	r.at, r.dirty, r.rank = e.At, true, rank
}

// Flush calls Step for the latest input.
func (r *Reports[_]) Flush() {
	if r.dirty {
		r.dirty = false
		r.Step(&r.prev, &r.Cur)
		r.prev = r.Cur
	}
}

// End implements rule.Check.
func (r *Reports[_]) End(vtime.Time) { r.Flush() }
