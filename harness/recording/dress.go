package recording

import (
	"errors"
	"iter"

	"github.com/rdma-gauntlet/gauntlet/harness/capture"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/trace/ndjson"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// dress plays in with the frames of the captures put back into its records.
func dress(in *ndjson.Reader, own *trace.Header, sources []capture.Source, s trace.Sink) error {
	var broken error
	next, stop := iter.Pull2(func(yield func(uint64, *trace.Record) bool) {
		_, broken = capture.Reunite(own, sources, yield)
	})
	d := &dresser{sink: s, next: next, more: true}
	err := in.Play(d)
	stop()
	return errors.Join(err, broken)
}

// dresser walks a trace and its frames side by side; both are in the order of the stream.
type dresser struct {
	sink  trace.Sink
	next  func() (uint64, *trace.Record, bool)
	index uint64 // of the next record from the trace
	at    uint64 // of bytes
	bytes *trace.Record
	more  bool
}

// Packet implements trace.Sink.
func (d *dresser) Packet(r *trace.Record) {
	for d.more && (d.bytes == nil || d.at < d.index) {
		d.at, d.bytes, d.more = d.next()
	}
	if d.more && d.at == d.index {
		b := d.bytes
		r.Raw, r.Packet.Payload, r.Packet.Pad = b.Raw, b.Packet.Payload, b.Packet.Pad
		if c := b.Changed; c != nil && r.Changed != nil {
			r.Changed.Raw, r.Changed.Packet.Payload, r.Changed.Packet.Pad = c.Raw, c.Packet.Payload, c.Packet.Pad
		}
	}
	d.index++
	d.sink.Packet(r)
}

// Event implements trace.Sink.
func (d *dresser) Event(e *trace.Event) { d.sink.Event(e) }

// End implements trace.Sink.
func (d *dresser) End(at vtime.Time) { d.sink.End(at) }
