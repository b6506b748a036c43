package writerecord

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/iwarp"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// receive processes a segment of a SEND. "Datagram-iWARP matches incoming packets at the DDP layer with the appropriate
// receive WR. It does not guarantee that the order in which the incoming packets are completed is the order in which
// the send side actually transmitted the data" (IV-B1).
func (t *Target) receive(now vtime.Time, s *iwarp.Segment) {
	m := t.table[messageKey{number: s.MSN}]
	if m == nil {
		if m = t.match(now, s); m == nil {
			return
		}
	}
	from, end := s.MO, uint64(s.MO)+uint64(len(s.Payload))
	switch {
	case m.over:
		return // a duplicate, or a late segment
	case end > uint64(m.receive.Len):
		t.finish(m, engine.StatusLocalLength)
		return
	case s.Last && m.known && m.length != uint32(end), m.known && end > uint64(m.length):
		t.malformed++ // contradicts the length that another segment gave
		return
	case s.Last:
		m.length, m.known = uint32(end), true
	}
	if !t.place(m, m.receive.VA, from, s.Payload) {
		return
	}
	if m.known && (m.arrived.all(m.length) || m.length == 0) {
		t.finish(m, engine.StatusSuccess)
	}
}

// match assigns the oldest posted receive to a new message. Without a receive the segment is dropped and no event is
// reported.
func (t *Target) match(now vtime.Time, s *iwarp.Segment) *message {
	rr, ok := t.host.take()
	if !ok {
		t.noReceive++
		return nil
	}
	m := t.begin(now, messageKey{number: s.MSN}, t.host.cfg.reassembly)
	if m == nil {
		t.overflow++
		t.host.giveBack(rr)
		return nil
	}
	m.receive = rr
	return m
}

// place logs a segment and stores it. If the log has no room the segment is not stored, because its bytes could never
// be declared valid. Bytes that have arrived before are not written again.
func (t *Target) place(m *message, base uint64, from uint32, data []byte) bool {
	if len(data) == 0 {
		t.fresh = t.fresh[:0]
		return true
	}
	var ok bool
	if t.fresh, ok = m.arrived.add(from, from+uint32(len(data)), t.fresh); !ok {
		t.overflow++
		return false
	}
	for _, c := range t.fresh {
		if part := data[c.from-from : c.to-from]; !t.mem.Store(base+uint64(c.from), part, len(part)) {
			t.refuse(engine.StatusLocalProtection)
			return false
		}
	}
	return true
}

// finish completes the receive of a message.
func (t *Target) finish(m *message, status engine.Status) {
	t.end(m)
	t.tell(engine.Event{Kind: engine.ReceiveCQE, Status: status, Op: engine.OpSend, ID: m.receive.ID, VA: m.receive.VA,
		Len: m.arrived.bytes()})
}

// giveUp ends an incomplete message: "in the event of packet loss while sending large multi-packet datagram messages,
// the entire message must be discarded" (IV-B4). Its receive returns to the head of the queue.
func (t *Target) giveUp(m *message) {
	t.end(m)
	t.lost++
	t.host.giveBack(m.receive)
	t.tell(engine.Event{Kind: engine.Lost, Op: engine.OpSend, ID: m.receive.ID, VA: m.receive.VA,
		Len: m.arrived.bytes()})
}
