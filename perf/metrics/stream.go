package metrics

import (
	"github.com/rdma-gauntlet/gauntlet/harness/iwarp"
	"github.com/rdma-gauntlet/gauntlet/harness/iwarp/stream"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// flow is a TCP connection that carries iWARP. A direction is named by the side that sends.
//
// A data packet is a segment with data. A byte of payload is delivered when the receiver acknowledges its FPDU; a SEND
// or WRITE lasts until that acknowledgement arrives, and a READ until its last response does.
type flow struct {
	c    *Collector
	conn stream.Conn // as sent
	way  [2]flowWay
	at   vtime.Time // of the segment that is being read
}

// flowWay is one direction of a flow.
type flowWay struct {
	segments queue[segment] // not acknowledged
	frames   queue[frame]   // not acknowledged
	messages queue[message] // SENDs and WRITEs whose last byte has been sent: message.last is its place in the stream
	reads    queue[message] // READs of this side that are not answered
	inside   bool           // a message has begun at begun
	begun    vtime.Time
	acked    int64 // acknowledged, as the ACK left the receiver
	known    int64 // acknowledged, as the ACK reached the sender; known <= acked
}

// segment is a stretch of the stream that was sent.
type segment struct {
	from, to int64
	safe     bool       // a copy has arrived or will
	lost     vtime.Time // time of the first loss; notLost without one, or after its recovery
}

// frame is the payload of an FPDU.
type frame struct {
	end   int64
	bytes int64
}

// flow returns the flow of a connection.
func (c *Collector) flow(conn int) *flow {
	if conn < 0 || conn >= len(c.flows) {
		return nil
	}
	if c.flows[conn] == nil {
		f := &flow{c: c}
		f.conn.On = f.unit
		c.flows[conn] = f
	}
	return c.flows[conn]
}

// sight processes a segment that is sent, that arrives, or both at once where only the arrival was tapped.
func (f *flow) sight(s *trace.Sight, sent, arrived bool) {
	from := s.Rec.From & 1
	if sent {
		f.at = s.At
		if a, ok := f.conn.Add(int(from), s.Rec.Packet.Payload); ok {
			f.sent(s, from, &a)
		}
	}
	if arrived && intact(s) {
		f.arrived(s, from)
	}
}

// sent counts a segment, and the bytes that its acknowledgement shows to be delivered.
func (f *flow) sent(s *trace.Sight, from trace.Side, a *stream.Arrival) {
	c, w := f.c, &f.way[from]
	f.deliver(s.At, from.Other(), f.conn.Offset(int(from.Other()), a.Header.Ack))
	if a.To == a.From {
		c.sum.Acknowledges++
		return
	}
	c.begin(s.At)
	c.sum.DataPackets++
	c.wire += int64(s.Rec.WireBytes)
	if !a.Again {
		g := segment{from: a.From, to: a.To, lost: notLost}
		g.fate(s)
		w.segments.push(g)
		return
	}
	c.sum.Retransmitted++
	c.sum.RetransmitByte += a.To - a.From
	g := w.find(a.From)
	if g == nil || g.safe {
		c.sum.Spurious++
	}
	if g != nil {
		g.fate(s)
	}
}

// fate records the fate of a transmission.
func (g *segment) fate(s *trace.Sight) {
	lost := taken(s.Rec)
	switch {
	case lost && !g.safe && g.lost == notLost:
		g.lost = s.At
	case !lost && s.Rec.Fate != trace.Unknown:
		g.safe = true
	}
}

// find returns the segment that holds a byte, nil when it is acknowledged.
func (w *flowWay) find(at int64) *segment {
	for i := range w.segments.n {
		if g := &w.segments.items[(w.segments.head+i)&int32(len(w.segments.items)-1)]; g.from <= at && at < g.to {
			return g
		}
	}
	return nil
}

// arrived ends the recovery of a segment, and completes the messages that an acknowledgement which reached the sender
// covers.
func (f *flow) arrived(s *trace.Sight, from trace.Side) {
	a, ok := f.conn.Add(int(from), s.Pkt.Payload) // known already: nothing but its place is asked for
	if !ok {
		return
	}
	if g := f.way[from].find(a.From); g != nil && a.To > a.From && !s.Out {
		if g.lost != notLost {
			f.c.recovery.add(s.At.Sub(g.lost))
			g.lost = notLost
		}
		g.safe = true
	}
	f.complete(s.At, from.Other(), f.conn.Offset(int(from.Other()), a.Header.Ack))
	f.answered(s.At, from, a.To)
}

// deliver credits the payload of FPDUs that the receiver of side's stream acknowledges for the first time.
func (f *flow) deliver(at vtime.Time, side trace.Side, ack int64) {
	w := &f.way[side]
	w.acked = max(w.acked, ack)
	for g := w.frames.front(); g != nil && g.end <= w.acked; g = w.frames.front() {
		f.c.credit(at, side, g.bytes)
		w.frames.pop()
	}
}

// complete ends the messages of side that an acknowledgement which reached it covers.
func (f *flow) complete(at vtime.Time, side trace.Side, ack int64) {
	w := &f.way[side]
	w.known = max(w.known, ack)
	for m := w.messages.front(); m != nil && m.last <= w.known; m = w.messages.front() {
		f.c.complete(side, at.Sub(m.first))
		w.messages.pop()
	}
	for g := w.segments.front(); g != nil && g.to <= w.known; g = w.segments.front() {
		w.segments.pop()
	}
}

// answered ends the READs of the other side whose last response has arrived with the stream up to a byte.
func (f *flow) answered(at vtime.Time, from trace.Side, to int64) {
	reads := &f.way[from.Other()].reads
	for m := reads.front(); m != nil && m.last != open && m.last <= to; m = reads.front() {
		f.c.complete(from.Other(), at.Sub(m.first))
		reads.pop()
	}
}

// unit processes an FPDU when its last byte is sent for the first time.
func (f *flow) unit(dir int, u *stream.Unit) {
	if u.FPDU == nil || u.Err != nil {
		return
	}
	w, seg := &f.way[dir], &u.Segment
	n := int64(len(seg.Payload))
	switch seg.Opcode {
	case iwarp.ReadRequest:
		w.reads.push(message{first: f.at, last: open})
		return
	case iwarp.Terminate:
		return
	}
	w.frames.push(frame{u.To, n})
	if seg.Opcode == iwarp.ReadResp {
		if seg.Last {
			f.answer(dir, u.To)
		}
		return
	}
	if !w.inside {
		w.inside, w.begun = true, f.at
	}
	if seg.Last {
		w.inside = false
		w.messages.push(message{first: w.begun, last: u.To})
	}
}

// answer records the position at which the response to the other side's oldest open READ ends.
func (f *flow) answer(dir int, end int64) {
	reads := &f.way[dir^1].reads
	for i := range reads.n {
		if m := &reads.items[(reads.head+i)&int32(len(reads.items)-1)]; m.last == open {
			m.last = end
			return
		}
	}
}
