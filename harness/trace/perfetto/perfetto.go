// Package perfetto writes a trace in the native format of Perfetto, a stream of protobuf messages, for its viewer
// (ui.perfetto.dev) and its trace processor. Each side is a process; each of its QPs has its requests and its timer as
// slices, packets that leave and arrive as instants with an arrow from the sender to the receiver, and variables of its
// engine as counters. Lost packets are on a track of the link. A recovery is a slice from the first lost packet until a
// copy of every lost packet has arrived.
package perfetto

import (
	"bufio"
	"fmt"
	"io"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Writer is a trace.Sink that writes the trace. Its memory grows with the connections, the open requests, and the lost
// packets of which no copy has arrived yet.
type Writer struct {
	w       *bufio.Writer
	err     error
	header  *trace.Header
	tracks  track // number of tracks so far
	sides   [2]track
	link    track
	halves  map[half]*tracks
	packets uint64
	ended   vtime.Time
}

// half is one side of a connection.
type half struct {
	side trace.Side
	conn int
}

// New returns a writer for a trace with this header.
func New(w io.Writer, h *trace.Header) *Writer {
	p := &Writer{w: bufio.NewWriter(w), header: h, halves: map[half]*tracks{}}
	for side := range p.sides {
		p.sides[side] = p.process(side+1, fmt.Sprintf("%s %s", trace.Side(side), p.impl(trace.Side(side))))
	}
	p.link = p.process(3, "link")
	return p
}

// impl returns the name of the implementation at a side.
func (p *Writer) impl(side trace.Side) string {
	if len(p.header.Conns) == 0 {
		return ""
	}
	return p.header.Conns[0].Ends[side].Impl
}

// Packet implements trace.Sink.
func (p *Writer) Packet(r *trace.Record) {
	p.packets++
	flow := p.packets
	name := r.Packet.Opcode.String()
	from, to := p.of(r.From, r.Conn), p.of(r.From.Other(), r.Conn)
	if r.Sent != vtime.Never {
		e := event(instant, from.sent, name)
		described(&e, r)
		if r.Recv != vtime.Never {
			e.fixed(eventFlow, flow)
		}
		p.put(r.Sent, e)
	}
	if r.Recv != vtime.Never {
		e := event(instant, to.arrived, name)
		described(&e, r)
		if r.Sent != vtime.Never {
			e.fixed(eventFlowEnd, flow)
		}
		p.put(r.Recv, e)
	}
	if r.Lost() && !r.Copy {
		e := event(instant, p.link, "lost "+name)
		described(&e, r)
		e.say("cause", r.Cause)
		p.put(r.Time(), e)
	}
	p.recover(from, r)
}

// described attaches the main fields of a packet.
func described(e *message, r *trace.Record) {
	if r.Packet.Opcode.OverIP() {
		e.note("bytes", int64(r.WireBytes))
		return
	}
	e.note("PSN", int64(r.Packet.PSN))
	e.note("bytes", int64(r.WireBytes))
}

// recover follows the recovery of the packets that a half sends: it begins with a lost packet, and ends when a packet
// of every lost PSN has arrived. Another loss before the end extends it.
func (p *Writer) recover(h *tracks, r *trace.Record) {
	switch lost := r.Lost(); {
	case r.Packet.Opcode.OverIP() || r.Conn < 0:
	case lost && !r.Copy:
		if h.recovering && len(h.lost) == 0 && r.Time() >= h.recovered {
			h.recovering = false
			p.put(h.recovered, event(end, h.recovery(p), ""))
		}
		if !h.recovering {
			h.recovering = true
			p.put(r.Time(), event(begin, h.recovery(p), "recovery"))
		}
		h.lost[r.Packet.PSN] = struct{}{}
	case !lost && len(h.lost) > 0:
		if delete(h.lost, r.Packet.PSN); len(h.lost) == 0 {
			h.recovered = r.Recv
		}
	}
}

// Event implements trace.Sink.
func (p *Writer) Event(ev *trace.Event) {
	h := p.of(ev.Side, ev.Conn)
	switch ev.Kind {
	case trace.Post:
		e := event(begin, h.open(p, ev.Body.ID), fmt.Sprintf("%s %s", ev.Body.Op, unit.Size(ev.Len)))
		e.note("request", int64(ev.Body.ID))
		p.put(ev.At, e)
	case trace.CQE:
		if on, ok := h.close(ev.Body.ID); ok {
			e := event(end, on, "")
			e.say("status", ev.Body.Status.String())
			p.put(ev.At, e)
		}
	case trace.Timer:
		p.timer(h, ev)
	case trace.Timeout, trace.Fatal, trace.Refused, trace.Lost:
		e := event(instant, h.sent, ev.Kind.String())
		e.say("status", ev.Body.Status.String())
		p.put(ev.At, e)
	case trace.Probe, trace.Count, trace.Counter:
		e := event(counter, h.counter(p, ev.Name), "")
		e.number(eventCounter, uint64(ev.Value))
		p.put(ev.At, e)
	}
}

// timer draws the time for which the transport timer runs.
func (p *Writer) timer(h *tracks, ev *trace.Event) {
	if h.running {
		p.put(ev.At, event(end, h.timer(p), ""))
	}
	if h.running = ev.Deadline != vtime.Never; h.running {
		e := event(begin, h.timer(p), "timer")
		e.note("for ns", int64(ev.Deadline.Sub(ev.At)/vtime.Nanosecond))
		p.put(ev.At, e)
	}
}

// End implements trace.Sink.
func (p *Writer) End(at vtime.Time) { p.ended = at }

// Close ends the open slices at the end of the trace, and returns the first error of writing.
func (p *Writer) Close() error {
	for _, h := range p.ordered() {
		if h.recovering && len(h.lost) == 0 {
			p.put(h.recovered, event(end, h.recovery(p), ""))
		}
		for _, on := range h.unfinished(p) {
			e := event(end, on, "")
			e.say("status", "open at the end of the trace")
			p.put(p.ended, e)
		}
	}
	if p.err == nil {
		p.err = p.w.Flush()
	}
	return p.err
}

// put writes an event at its time.
func (p *Writer) put(at vtime.Time, e message) {
	var m message
	m.number(packetTimestamp, nanoseconds(at))
	m.number(packetSequence, 1)
	m.message(packetEvent, e)
	p.write(m)
}

// write writes one packet of the file.
func (p *Writer) write(m message) {
	if p.err == nil {
		_, p.err = p.w.Write(protowire.AppendBytes(protowire.AppendTag(nil, tracePacket, protowire.BytesType), m))
	}
}
