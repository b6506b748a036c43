package metrics

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Work is the ordered work of the applications of both sides, and its outcome.
type Work struct {
	Tally
	Sides [2]Tally `json:"sides"` // at A and at B
}

// Tally counts requests. Those that were posted and are in no other count never completed.
type Tally struct {
	// requests that the Spec asks for; 0 when Endless, and when there is no Spec
	Ordered int64     `json:"ordered"`
	Endless bool      `json:"endless,omitempty"` // no fixed number: requests are posted until the end of the run
	Posted  int64     `json:"posted"`            // 0 when the endpoint does not report them
	Done    int64     `json:"done"`              // completed with success
	Failed  []Failure `json:"failed,omitempty"`  // completed with their own error, in the order of the statuses
	Flushed int64     `json:"flushed,omitempty"` // completed because of the error of another request
	Known   Knowledge `json:"known"`             // how Done is known
}

// Failure is a number of requests that completed with an error.
type Failure struct {
	Status string `json:"status"` // "RETRY_EXC_ERR"
	Count  int64  `json:"count"`
}

// Knowledge is the source of the number of completed requests. For two sides together the weaker one holds.
type Knowledge string

// The sources, the most reliable first.
const (
	ByCompletions Knowledge = "completions" // the endpoint reports each
	ByTool        Knowledge = "tool"        // the tool above a black box reports the end of its work
	ByWire        Knowledge = "wire"        // acknowledged, as seen by a tap; the outcome of the others is not known
	ByNobody      Knowledge = "unknown"     // datagrams of a black box, which are not acknowledged
)

// Order is the work that a Spec asks of a side.
type Order struct {
	Requests int64
	Silent   int64 // those of Requests that complete without a CQE
	Endless  bool  // Requests does not count
}

// Unbegun is the work of a run that did not begin.
func Unbegun(orders [2]Order) Work {
	return NewCollector(&trace.Header{Reports: trace.ReportCQE}, Options{Orders: orders}).work()
}

// Failures returns the number of requests that completed with their own error.
func (t *Tally) Failures() (n int64) {
	for _, f := range t.Failed {
		n += f.Count
	}
	return n
}

// Idle reports whether there was work, it would have been seen, and none of it came to any end.
func (t *Tally) Idle() bool {
	asked := t.Ordered > 0 || t.Endless || t.Posted > 0
	return asked && t.Known != ByNobody && t.Done+t.Flushed+t.Failures() == 0
}

// requestCounts counts the completed requests of each side.
type requestCounts struct {
	posted       [2]int64
	ended        [2][engine.StatusRNRRetryExceeded + 2]int64 // by status, any other in the last
	acknowledged [2]int64                                    // messages, as the wire shows
	// the side has sent datagrams, which are not acknowledged
	unanswered [2]bool
}

// event takes a report of an endpoint.
func (d *requestCounts) event(e *trace.Event) {
	switch e.Kind {
	case trace.Post:
		d.posted[e.Side&1]++
	case trace.CQE:
		ended := &d.ended[e.Side&1]
		ended[min(int(e.Body.Status), len(ended)-1)]++
	}
}

// sight records the sides whose packets are not acknowledged.
func (d *requestCounts) sight(r *trace.Record) {
	if o := r.Packet.Opcode; o == roce.UDP || o.Class() == roce.ClassUD && r.Packet.DestQP != roce.CMQueuePair {
		d.unanswered[r.From&1] = true
	}
}

// complete counts a message of a side that the wire shows to be complete, and the time that it took.
func (c *Collector) complete(side trace.Side, took vtime.Duration) {
	c.requests.acknowledged[side&1]++
	c.fct.add(took)
}

// work returns the Work that the trace shows so far.
func (c *Collector) work() Work {
	var w Work
	w.Known = ByCompletions
	idle := ByCompletions // knowledge of the sides without work
	for side := range w.Sides {
		t := &w.Sides[side]
		*t = c.tally(trace.Side(side))
		w.Ordered, w.Posted, w.Done, w.Flushed = w.Ordered+t.Ordered, w.Posted+t.Posted, w.Done+t.Done,
			w.Flushed+t.Flushed
		w.Endless = w.Endless || t.Endless
		if t.Ordered+t.Posted+t.Done > 0 || t.Endless {
			w.Known = lesser(w.Known, t.Known)
		} else {
			idle = lesser(idle, t.Known)
		}
	}
	if w.Ordered+w.Posted+w.Done == 0 && !w.Endless {
		w.Known = idle
	}
	if w.Endless {
		w.Ordered = 0
	}
	w.Failed = c.requests.failed(trace.A, trace.B)
	return w
}

// tally counts the work of a side: by the endpoint's reports, or without them by the acknowledgements.
func (c *Collector) tally(side trace.Side) Tally {
	d, order := &c.requests, c.opts.Orders[side]
	t := Tally{Posted: d.posted[side], Done: d.ended[side][engine.StatusSuccess],
		Flushed: d.ended[side][engine.StatusFlushed],
		Failed:  d.failed(side), Endless: order.Endless, Known: c.knowledge(side)}
	if !order.Endless {
		t.Ordered = order.Requests
	}
	seen := d.acknowledged[side]
	if t.Ordered > 0 {
		seen = min(seen, t.Ordered) // a tool also sends messages that the Spec does not count
	}
	if t.Known == ByCompletions {
		t.Done = min(t.Done, t.most())
	}
	switch {
	case t.Known == ByCompletions && order.Silent > 0:
		t.Done = max(t.Done, min(seen, t.Done+order.Silent))
	case t.Known == ByTool && seen > t.Done, t.Known == ByWire:
		t.Done, t.Known = max(t.Done, seen), ByWire
	}
	return t
}

// most returns the number of requests that may be done: those that were ordered and posted, as far as that is known,
// without those that ended otherwise. An endpoint may report more, when it completes a request twice.
func (t *Tally) most() int64 {
	most := t.Done
	for _, n := range []int64{t.Ordered, t.Posted} {
		if n > 0 {
			most = min(most, max(0, n-t.Flushed-t.Failures()))
		}
	}
	return most
}

// knowledge returns the source of the number of completed requests of a side.
func (c *Collector) knowledge(side trace.Side) Knowledge {
	told := c.header.Reports
	if len(c.header.Conns) > 0 {
		told |= c.header.Conns[0].Ends[side].Reports
	}
	switch {
	// the end whose peer is a black box reports completions, although its header does not declare so
	case told&trace.ReportCQE != 0, told == 0 && c.requests.posted[side] > 0:
		return ByCompletions
	case told&(trace.ReportDone|trace.ReportOrdered|trace.ReportFlushed) != 0:
		return ByTool
	case c.requests.unanswered[side] || c.header.Taps == [2]bool{}:
		return ByNobody
	}
	return ByWire
}

// failed lists the errors of some sides.
func (d *requestCounts) failed(sides ...trace.Side) (list []Failure) {
	for s := range d.ended[0] {
		var n int64
		for _, side := range sides {
			n += d.ended[side][s]
		}
		if status := engine.Status(s); n > 0 && status != engine.StatusSuccess && status != engine.StatusFlushed {
			list = append(list, Failure{status.String(), n})
		}
	}
	return list
}

// lesser returns the less reliable of two sources.
func lesser(a, b Knowledge) Knowledge {
	for _, k := range []Knowledge{ByNobody, ByWire, ByTool} {
		if a == k || b == k {
			return k
		}
	}
	return ByCompletions
}
