package metrics_test

import (
	"reflect"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/perf/metrics"
)

// TestWork counts only events of endpoints: completions by status, with flushes apart, for each side.
func TestWork(t *testing.T) {
	h := &trace.Header{Reports: trace.ReportCQE, Taps: [2]bool{true, true}, Conns: make([]trace.Conn, 1)}
	c := metrics.NewCollector(h, metrics.Options{Orders: [2]metrics.Order{{Requests: 10, Silent: 1}, {Endless: true}}})
	tell := func(side trace.Side, kind trace.EventKind, status engine.Status, n int) {
		for range n {
			c.Event(&trace.Event{Side: side, Kind: kind, Body: engine.Event{Status: status}})
		}
	}
	tell(trace.A, trace.Post, 0, 8)
	tell(trace.A, trace.CQE, engine.StatusSuccess, 3)
	tell(trace.A, trace.CQE, engine.StatusRetryExceeded, 2)
	tell(trace.A, trace.CQE, engine.StatusRemoteAccess, 1)
	tell(trace.A, trace.CQE, engine.StatusFlushed, 2)
	tell(trace.B, trace.Post, 0, 5)
	tell(trace.B, trace.CQE, engine.StatusSuccess, 4)
	tell(trace.B, trace.CQE, engine.StatusRetryExceeded, 1)
	a := metrics.Tally{Ordered: 10, Posted: 8, Done: 3, Flushed: 2, Known: metrics.ByCompletions,
		Failed: []metrics.Failure{{Status: "REM_ACCESS_ERR", Count: 1}, {Status: "RETRY_EXC_ERR", Count: 2}}}
	b := metrics.Tally{Endless: true, Posted: 5, Done: 4, Failed: []metrics.Failure{{Status: "RETRY_EXC_ERR",
		Count: 1}}, Known: metrics.ByCompletions}
	all := metrics.Tally{Endless: true, Posted: 13, Done: 7, Flushed: 2, Known: metrics.ByCompletions,
		Failed: []metrics.Failure{{Status: "REM_ACCESS_ERR", Count: 1}, {Status: "RETRY_EXC_ERR", Count: 3}}}
	want := metrics.Work{Tally: all, Sides: [2]metrics.Tally{a, b}}
	if got := c.Summary().Work; !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
}

// TestWorkOnTheWire: the work of a device is counted from acknowledgements, unless the tool above it reports more.
// A request that an endpoint completes twice is done once.
func TestWorkDoneTwice(t *testing.T) {
	h := &trace.Header{Reports: trace.ReportCQE, Taps: [2]bool{true, true}, Conns: make([]trace.Conn, 1)}
	for _, c := range []struct{ ordered, posted, succeeded, flushed, want int64 }{
		{100, 100, 101, 0, 100},
		{0, 100, 101, 0, 100},
		{100, 10, 11, 3, 7},
		{100, 120, 120, 0, 100},
		{0, 0, 5, 0, 5},
	} {
		m := metrics.NewCollector(h, metrics.Options{Orders: [2]metrics.Order{{Requests: c.ordered}}})
		for kind, n := range map[trace.EventKind]int64{trace.Post: c.posted, trace.CQE: c.succeeded} {
			for range n {
				m.Event(&trace.Event{Kind: kind})
			}
		}
		for range c.flushed {
			m.Event(&trace.Event{Kind: trace.CQE, Body: engine.Event{Status: engine.StatusFlushed}})
		}
		if got := m.Summary().Work.Done; got != c.want {
			t.Errorf("%+v: %d done", c, got)
		}
	}
}

func TestWorkOnTheWire(t *testing.T) {
	_, kept := simulate(t, "link delay=1ms", "load write msg=4KiB count=7")
	for _, c := range []struct {
		told   trace.Reports
		events int // completions
		taps   [2]bool
		done   int64
		known  metrics.Knowledge
	}{
		{0, 0, [2]bool{true, true}, 7, metrics.ByWire},
		{trace.ReportDone, 0, [2]bool{true, true}, 7, metrics.ByWire},
		{trace.ReportDone, 7, [2]bool{true, true}, 7, metrics.ByTool},
		{0, 0, [2]bool{}, 0, metrics.ByNobody},
		{0, 5, [2]bool{true, true}, 5, metrics.ByCompletions},
	} {
		h := trace.Header{Taps: c.taps, Conns: make([]trace.Conn, 1)}
		h.Conns[0].Ends[trace.A].Reports = c.told
		m := metrics.NewCollector(&h, metrics.Options{Orders: [2]metrics.Order{{Requests: 9}, {}}})
		seen := trace.NewTimeline(&h, m)
		for i := range kept.Records {
			if c.taps[0] {
				seen.Packet(&kept.Records[i])
			}
		}
		for range c.events {
			m.Event(&trace.Event{Side: trace.A, Kind: trace.Post})
			m.Event(&trace.Event{Side: trace.A, Kind: trace.CQE})
		}
		seen.End(kept.Ended)
		if w := m.Summary().Work; w.Done != c.done || w.Known != c.known || w.Ordered != 9 || w.Idle() {
			t.Errorf("%v, %d completions: %+v", c.told, c.events, w)
		}
	}
}

// TestWorkBetweenThePorts: without a tap at a port, nobody knows what is done, even if the capture orders nothing.
func TestWorkBetweenThePorts(t *testing.T) {
	for _, c := range []struct {
		header trace.Header
		known  metrics.Knowledge
	}{
		{trace.Header{}, metrics.ByNobody},
		{trace.Header{Taps: [2]bool{true, true}}, metrics.ByWire},
		{trace.Header{Reports: trace.ReportCQE}, metrics.ByCompletions},
	} {
		m := metrics.NewCollector(&c.header, metrics.Options{})
		if w := m.Summary().Work; w.Known != c.known {
			t.Errorf("%+v: known by %s, want %s", c.header, w.Known, c.known)
		}
	}
}
