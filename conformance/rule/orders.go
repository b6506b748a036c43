package rule

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Orders is the work that the Spec of a run orders its endpoints to do. Connections are numbered as in the Spec: both
// hops of a divided path have the same number.
type Orders struct {
	Series func(conn int, side trace.Side) []Series // the requests that a side is to post on a connection; empty for none
	// the memory of a side that its peer may access; empty when unknown
	Regions func(conn int, side trace.Side) []Region
	// time at which the run is stopped, even with work left; vtime.Never when it ends with its work
	Until   vtime.Time
	Rates   [2]unit.Rate // by side, the rate at which it may send, layer 1; 0 when the Spec sets none
	Managed bool         // connections are set up by messages of the communication manager, which may fail
}

// Series is a sequence of requests that a side is to post on a connection, in order. Requests of different series may
// be interleaved.
type Series struct {
	First    uint64 // ID of the first request; the IDs of the others count up from it, unless Scripted
	Count    int    // number of requests; 0 is unlimited
	Scripted bool   // each request has its own ID, and a request that the endpoint cannot take at its time is omitted
	Abroad   bool   // the peer gives the addresses of READs and WRITEs at run time

	Request func(k int) engine.WorkRequest // returns request k, counted from 0
}

// Ordered returns the requests that the requester is to post; ok is false when unknown.
func (c *Context) Ordered() (list []Series, ok bool) {
	if c.judge.opts.Orders == nil || c.Index < 0 {
		return nil, false
	}
	return c.judge.opts.Orders.Series(c.judge.connOf(c.Index), c.Req), true
}

// Told returns the memory that the responder is to offer; empty when unknown.
func (c *Context) Told() []Region {
	if c.judge.opts.Orders == nil || c.Index < 0 || c.judge.opts.Orders.Regions == nil {
		return nil
	}
	return c.judge.opts.Orders.Regions(c.judge.connOf(c.Index), c.Req.Other())
}

// Until returns the time at which the run is stopped; vtime.Never when it ends with its work, or when that is unknown.
func (c *Context) Until() vtime.Time {
	if c.judge.opts.Orders == nil {
		return vtime.Never
	}
	return c.judge.opts.Orders.Until
}

// RateOf returns the rate at which a side may send; 0 when the Spec sets none, and on a divided path.
func (c *Context) RateOf(side trace.Side) unit.Rate {
	if c.judge.opts.Orders == nil || c.hop() != trace.Whole {
		return 0
	}
	return c.judge.opts.Orders.Rates[side&1]
}

// Managed reports whether connections are set up by messages, so that a connection may never be established.
func (c *Context) Managed() bool { return c.judge.opts.Orders != nil && c.judge.opts.Orders.Managed }

// Idle reports whether the requester's endpoint has reported that it has no work left.
func (c *Context) Idle() bool { return c.judge.idle[c.Req&1] }

// toOrders starts the halves that the Spec gives work and of which nothing was seen.
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

// connOf returns the connection of the Spec that corresponds to connection i of the header, which may be a hop.
func (j *Judge) connOf(i int) int {
	if n := len(j.halves) / 2; j.header.Divided() && i >= n {
		return i - n
	}
	return i
}
