package diw

import (
	"fmt"
	"hash/crc32"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/iwarp"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// model follows one half-conversation for all checks of the families: what its source sent, what reached the target, and what
// a target must make of it. The checks are shown the same things one after the other; the first that is shown something takes
// the step, and the others find its result.
type model struct {
	c              *rule.Conversation
	sights, events int
	now            step

	out, in  reader
	memory   rule.MemoryMap
	table    map[key]*message
	holders  map[uint64]*message // SENDs by their receive; buffers may overlap
	order    []*message
	receives []buffer         // posted and not taken, oldest first
	posts    [2]int           // work requests, by side
	probes   map[string]int64 // what the target counts and declares, the latest values
	reasm    vtime.Duration
	rec      vtime.Duration
}

// step is what the latest sight or event was.
type step struct {
	sent, came *datagram
	m          *message
	p          *part
	closed     []*message
}

// key tells the messages of a source apart.
type key struct {
	record bool
	number uint32
}

// buffer is a posted receive.
type buffer struct {
	id  uint64
	va  uint64
	len uint32
}

// part is a segment that reached the target.
type part struct {
	off, len uint32
	sum      uint32
	at       vtime.Time
	record   uint64
	last     bool
	fresh    bool // none of its bytes had come before
	late     bool // it came behind the last segment
	jumped   bool // it is not the one that follows what came before
	stored   bool // its placement was reported
}

// message is what a target knows of a message.
type message struct {
	key
	first    vtime.Time
	parts    []part
	arrived  spans
	length   uint32 // when known
	known    bool
	last     vtime.Time // arrival of the last segment; Never when it has not come
	whole    vtime.Time // when all had come; Never when it has not
	base     uint64     // of a Write-Record, and of a SEND whose receive is known
	buf      buffer
	matched  bool // buf is known
	declared spans
	entries  int  // declarations
	again    bool // some byte was declared twice
	ended    bool // a SEND: completed or given up
	status   engine.Status
}

// keep bounds the messages that a check remembers; the oldest is closed when there are more. Scan is among how many of the
// latest an event looks for its own.
const (
	keep = 1 << 14
	scan = 1 << 10
)

func newModel(c *rule.Conversation) *model {
	return &model{c: c, table: map[key]*message{}, holders: map[uint64]*message{}, probes: map[string]int64{},
		reasm: duration(c.PeerAttr.Params, "t_reasm"), rec: duration(c.PeerAttr.Params, "t_rec")}
}

// duration reads a parameter of the target's; the default of both timers is 100 ms.
func duration(given engine.Params, name string) vtime.Duration {
	if d, err := vtime.ParseDuration(given[name]); err == nil {
		return d
	}
	return 100 * vtime.Millisecond
}

// sight takes a packet.
func (w *model) sight(s *rule.Sight) {
	w.now = step{closed: w.now.closed[:0]}
	switch s.Point {
	case trace.RequesterOut:
		w.now.sent = w.out.read(s)
	case trace.ResponderIn:
		if w.now.came = w.in.read(s); w.now.came != nil && w.now.came.err == nil {
			w.now.m, w.now.p = w.take(w.now.came)
		}
	}
}

// take adds a segment to its message. Both results are nil for one that a target must not take.
func (w *model) take(d *datagram) (*message, *part) {
	s := &d.Segment
	if s.DDP != iwarp.Version || s.RDMAP != iwarp.Version || s.Tagged != s.Opcode.Tagged() {
		return nil, nil
	}
	n := uint32(len(s.Payload))
	switch {
	case s.Opcode == iwarp.WriteRecord:
		return w.takeRecord(d, n)
	case s.Opcode == iwarp.Send && s.QN == iwarp.QueueSend:
		return w.takeSend(d, n)
	}
	return nil, nil
}

func (w *model) takeRecord(d *datagram, n uint32) (*message, *part) {
	s, r := &d.Segment, &d.Segment.Record
	end := uint64(r.Off) + uint64(n)
	if !permits(&w.memory, s.STag, s.TO, n) || end > uint64(r.Len) || s.Last && end != uint64(r.Len) {
		return nil, nil
	}
	m := w.message(d.at, key{true, r.ID})
	if len(m.parts) == 0 {
		m.base, m.length, m.known = s.TO-uint64(r.Off), r.Len, true
	} else if m.base != s.TO-uint64(r.Off) || m.length != r.Len {
		return nil, nil
	}
	return m, m.add(d, r.Off, n)
}

func (w *model) takeSend(d *datagram, n uint32) (*message, *part) {
	s := &d.Segment
	m := w.message(d.at, key{false, s.MSN})
	if len(m.parts) == 0 && w.c.Alone {
		if len(w.receives) == 0 {
			w.forget(m)
			return nil, nil
		}
		m.buf, m.matched, w.receives = w.receives[0], true, w.receives[1:]
		m.base = m.buf.va
		w.holders[m.buf.id] = m
	}
	if s.Last && !m.known {
		m.length, m.known = s.MO+n, true
	}
	return m, m.add(d, s.MO, n)
}

// message returns the message of a key, a new one when the life of the one before has ended.
func (w *model) message(now vtime.Time, k key) *message {
	m := w.table[k]
	if m != nil {
		life := w.rec
		if !k.record {
			if life = w.reasm; m.whole == vtime.Never {
				life *= 2
			}
		}
		if now.Sub(m.first) < life {
			return m
		}
	}
	m = &message{key: k, first: now, last: vtime.Never, whole: vtime.Never}
	w.table[k] = m
	if w.order = append(w.order, m); len(w.order) > keep {
		w.close(w.order[0])
		w.order = w.order[1:]
	}
	return m
}

// forget takes back the newest message.
func (w *model) forget(m *message) {
	delete(w.table, m.key)
	w.order = w.order[:len(w.order)-1]
}

// close ends the story of a message.
func (w *model) close(m *message) {
	if w.table[m.key] == m {
		delete(w.table, m.key)
	}
	w.now.closed = append(w.now.closed, m)
}

// add notes a segment.
func (m *message) add(d *datagram, off, n uint32) *part {
	p := part{off: off, len: n, sum: crc32.ChecksumIEEE(d.Segment.Payload), at: d.at, record: d.record, last: d.Segment.Last,
		late: m.last != vtime.Never, jumped: off != m.reach(), fresh: m.arrived.without(off, off+n)}
	m.parts = append(m.parts, p)
	m.arrived.add(off, off+n)
	if p.last && m.last == vtime.Never {
		m.last = d.at
	}
	if m.whole == vtime.Never && m.known && m.arrived.covers(0, m.length) {
		m.whole = d.at
	}
	return &m.parts[len(m.parts)-1]
}

// reach is the offset behind the latest segment.
func (m *message) reach() uint32 {
	if len(m.parts) == 0 {
		return 0
	}
	p := &m.parts[len(m.parts)-1]
	return p.off + p.len
}

// event follows what both ends tell.
func (w *model) event(e *trace.Event) {
	w.now = step{closed: w.now.closed[:0]}
	if !w.c.Mine(e) {
		w.now.m = w.ofTarget(e)
	} else if e.Kind == trace.Post {
		w.posts[w.c.Req]++
	}
}

// ofTarget follows an event of the target and returns the message that it is about.
func (w *model) ofTarget(e *trace.Event) (m *message) {
	switch e.Kind {
	case trace.Post:
		w.posts[e.Side]++
	case trace.Probe:
		w.memory.Probe(e)
		w.probes[e.Name] = e.Value
	case trace.Receive:
		w.receives = append(w.receives, buffer{e.Body.ID, e.VA, e.Len})
	case trace.Recv, trace.Lost:
		if m = w.holding(e); m != nil && !m.ended {
			m.ended, m.status = true, e.Body.Status
			if e.Kind == trace.Lost && m.matched {
				w.receives = append([]buffer{m.buf}, w.receives...)
			}
		}
	case trace.Store:
		m = w.stored(e)
	case trace.Declared:
		if m = w.table[key{true, uint32(e.Body.ID)}]; m != nil {
			m.entries++
			off := uint32(e.VA - m.base)
			m.again = m.again || e.Len > 0 && !m.declared.without(off, off+e.Len)
			m.declared.add(off, off+e.Len)
		}
	}
	return m
}

// holding finds the SEND that an event about a receive is about: the one that holds the buffer, and where that is not known
// the oldest that fits.
func (w *model) holding(e *trace.Event) *message {
	if m := w.holders[e.Body.ID]; m != nil {
		delete(w.holders, e.Body.ID)
		return m
	}
	for _, m := range w.order[max(0, len(w.order)-scan):] {
		switch {
		case m.record || m.ended || m.matched:
		case e.Kind == trace.Recv && m.whole != vtime.Never && m.length == e.Body.Len:
			m.base = e.VA
			return m
		case e.Kind == trace.Lost && m.whole == vtime.Never:
			return m
		}
	}
	return nil
}

// stored finds the segment that was placed, and the message that it is of, the latest that has one like it.
func (w *model) stored(e *trace.Event) *message {
	for i := len(w.order) - 1; i >= max(0, len(w.order)-scan); i-- {
		m := w.order[i]
		if !m.record && !m.matched {
			continue
		}
		for k := range m.parts { // the first of several copies is the one that is placed
			if p := &m.parts[k]; p.fresh && !p.stored && m.base+uint64(p.off) == e.VA && p.len == e.Len && p.sum == e.Sum {
				p.stored = true
				return m
			}
		}
	}
	return nil
}

// String says which message it is, as findings print it.
func (m *message) String() string {
	if m.record {
		return fmt.Sprintf("Write-Record %d", m.number)
	}
	return fmt.Sprintf("SEND %d", m.number)
}

// bytes are those that a segment brought.
func (p *part) bytes() spans { return spans{{p.off, p.off + p.len}} }

// latest is when the newest segment came.
func (m *message) latest() vtime.Time { return m.parts[len(m.parts)-1].at }
