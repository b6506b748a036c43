package rule

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Orders is what the Spec of a run tells its endpoints to do. Connections are those of the Spec: the hops of a divided
// path have the same.
type Orders struct {
	Series func(conn int, side trace.Side) []Series // what a side is to post on a connection; none for nothing
	// the memory of a side that its peer may reach; none when not known
	Regions func(conn int, side trace.Side) []Region
	// the run is stopped then, whatever is left; vtime.Never when it lasts as long as its work
	Until   vtime.Time
	Rates   [2]unit.Rate // by side, at which it may send, layer 1; 0 when it is not told
	Managed bool         // connections are set up by messages, which may fail
}

// Series is requests that a side is told to post on a connection, one after the other. Those of different series may be
// mixed.
type Series struct {
	First    uint64 // ID of the first; the others count from there, unless Scripted
	Count    int    // requests; 0 is without end
	Scripted bool   // each has an ID of its own, and one that the endpoint cannot take then is left out
	Abroad   bool   // the peer tells at run time where READs and WRITEs act

	Request func(k int) engine.WorkRequest // the k-th, from 0 on
}

// Ordered returns what the requester was told to post; ok is false when nobody knows.
func (c *Context) Ordered() (list []Series, ok bool) {
	if c.judge.opts.Orders == nil || c.Index < 0 {
		return nil, false
	}
	return c.judge.opts.Orders.Series(c.judge.connOf(c.Index), c.Req), true
}

// Told returns the memory that the responder was told to offer; none when nobody knows.
func (c *Context) Told() []Region {
	if c.judge.opts.Orders == nil || c.Index < 0 || c.judge.opts.Orders.Regions == nil {
		return nil
	}
	return c.judge.opts.Orders.Regions(c.judge.connOf(c.Index), c.Req.Other())
}

// Until returns when the run is stopped by the clock; vtime.Never when it lasts as long as its work.
func (c *Context) Until() vtime.Time {
	if c.judge.opts.Orders == nil {
		return vtime.Never
	}
	return c.judge.opts.Orders.Until
}

// RateOf returns the rate that a side is told; 0 when it is not told one, and behind a box.
func (c *Context) RateOf(side trace.Side) unit.Rate {
	if c.judge.opts.Orders == nil || c.hop() != trace.Whole {
		return 0
	}
	return c.judge.opts.Orders.Rates[side&1]
}

// Managed reports whether connections are set up by messages, so that one may never come to be.
func (c *Context) Managed() bool { return c.judge.opts.Orders != nil && c.judge.opts.Orders.Managed }

// Idle reports whether the endpoint of the requester has said that it has no work left.
func (c *Context) Idle() bool { return c.judge.idle[c.Req&1] }

// toOrders starts the halves of which nothing was seen although they were to have work.
func (j *Judge) toOrders() {
	o := j.opts.Orders
	for i := range j.halves {
		for side, h := range j.halves[i] {
			if o != nil && h == nil && len(o.Series(j.connOf(i), trace.Side(side))) > 0 {
				j.start(j.half(i, trace.Side(side)))
			}
		}
	}
}

// connOf returns the connection of the Spec that connection i of the header is, or is a hop of.
func (j *Judge) connOf(i int) int {
	if n := len(j.halves) / 2; j.header.Divided() && i >= n {
		return i - n
	}
	return i
}
