package run

import (
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// tee forwards a trace to two sinks.
type tee [2]trace.Sink

// Packet implements trace.Sink.
func (t tee) Packet(r *trace.Record) {
	t[0].Packet(r)
	t[1].Packet(r)
}

// Event implements trace.Sink.
func (t tee) Event(e *trace.Event) {
	t[0].Event(e)
	t[1].Event(e)
}

// End implements trace.Sink.
func (t tee) End(at vtime.Time) {
	t[0].End(at)
	t[1].End(at)
}
