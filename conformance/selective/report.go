package selective

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Reports puts the variables that one end reports after one input into a State.
type Reports[State any] struct {
	Order []string                       // in which an end reports its variables
	Set   func(s *State, e *trace.Event) // takes one variable
	Step  func(prev, cur *State)         // is called for every change
	Prev  State                          // before the latest input
	Cur   State                          // after it

	c     *rule.Context
	mine  bool       // it is the requester's end
	at    vtime.Time // of the latest report
	dirty bool       // Step has not been called for Cur
	rank  int        // in Order, of the latest report
}

// NewReports returns those of the requester's end, or of the responder's, which begin with a state.
func NewReports[State any](c *rule.Context, mine bool, begin State) *Reports[State] {
	return &Reports[State]{c: c, mine: mine, Prev: begin, Cur: begin}
}

// Event takes a variable. One that is not behind the last in the order belongs to the next input, even if that came at
// the same instant.
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

// Flush ends an input.
func (r *Reports[_]) Flush() {
	if r.dirty {
		r.dirty = false
		r.Step(&r.Prev, &r.Cur)
		r.Prev = r.Cur
	}
}

// End implements rule.Check.
func (r *Reports[_]) End(vtime.Time) { r.Flush() }
