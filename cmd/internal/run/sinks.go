package run

import (
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// tee hands a trace to two sinks.
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

// both shows the same sights to two viewers.
type both [2]trace.Viewer

// Sight implements trace.Viewer.
func (b both) Sight(s *trace.Sight) {
	b[0].Sight(s)
	b[1].Sight(s)
}

// Event implements trace.Viewer.
func (b both) Event(e *trace.Event) {
	b[0].Event(e)
	b[1].Event(e)
}

// End implements trace.Viewer.
func (b both) End(at vtime.Time) {
	b[0].End(at)
	b[1].End(at)
}
