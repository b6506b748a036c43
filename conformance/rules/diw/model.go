package diw

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/iwarp"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// model tracks one half-conversation for all checks of the families: the messages of its source, those that reached the
// target, and the events that these require. All checks see the same sights and events, one after the other; the first
// check makes the step, and the others find its result.
type model struct {
	c              *rule.Conversation
	sights, events int  // numbers processed so far
	now            step // effect of the latest of them

	out, in  reader              // datagrams at the source's port, and at the target's
	memory   rule.MemoryMap      // of the target
	table    map[key]*message    // messages not closed
	holders  map[uint64]*message // SENDs by the ID of their receive, because buffers may overlap
	order    []*message          // messages remembered, by their beginning
	live     []*message          // SENDs that hold a receive and have not ended
	receives []buffer            // posted and not taken, oldest first
	varied   bool                // a SEND came that not every target takes: with solicited event, or with invalidate
	posts    [2]int              // number of work requests, by side
	probes   map[string]int64    // latest values of the target's probes, by name
	reasm    vtime.Duration      // t_reasm: time after which the target gives up an incomplete SEND
	rec      vtime.Duration      // t_rec: time after which it forgets a Write-Record
}

// step is the effect of the latest sight or event; nil fields have none.
type step struct {
	sent, came *datagram  // datagram completed at the source, or at the target
	m          *message   // the message concerned
	p          *part      // the segment added to m, or placed
	closed     []*message // messages that can get no more segments
}

// key identifies a message of a source.
type key struct {
	record bool   // a Write-Record; otherwise a SEND
	number uint32 // its ID, or MSN
}

// keep bounds the messages remembered; the oldest is closed at the limit. scan is the number of latest messages that an
// event is matched with.
const (
	keep = 1 << 14
	scan = 1 << 10
)

func newModel(c *rule.Conversation) *model {
	return &model{c: c, table: map[key]*message{}, holders: map[uint64]*message{}, probes: map[string]int64{},
		reasm: duration(c.PeerAttr.Params, "t_reasm"), rec: duration(c.PeerAttr.Params, "t_rec")}
}

// duration returns a parameter of the target; the default of both timers is 100 ms.
func duration(given engine.Params, name string) vtime.Duration {
	if d, err := vtime.ParseDuration(given[name]); err == nil {
		return d
	}
	return 100 * vtime.Millisecond
}

// sight processes a packet.
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

// take adds a segment to its message. Both results are nil for a segment that the target must not accept.
func (w *model) take(d *datagram) (*message, *part) {
	s := &d.Segment
	if !valid(s) {
		return nil, nil
	}
	n := uint32(len(s.Payload))
	switch {
	case s.Opcode == iwarp.WriteRecord:
		return w.takeRecord(d, n)
	case s.Opcode.IsSend() && s.QN == iwarp.QueueSend:
		return w.takeSend(d, n)
	}
	return nil, nil
}

// valid reports whether the control word of a segment is one that a target goes on to examine.
func valid(s *iwarp.Segment) bool {
	return s.DDP == iwarp.Version && s.RDMAP == iwarp.Version && s.Tagged == s.Opcode.Tagged()
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
		m.barred = r.Len == 0 && w.memory.Known() && !w.memory.Allows(s.STag, s.TO, 1, engine.RemoteWrite)
	} else if m.base != s.TO-uint64(r.Off) || m.length != r.Len {
		return nil, nil
	}
	return m, m.add(d, r.Off, n)
}

func (w *model) takeSend(d *datagram, n uint32) (*message, *part) {
	s := &d.Segment
	m := w.message(d.at, key{false, s.MSN})
	if s.Opcode != iwarp.Send {
		w.varied = true
	}
	if len(m.parts) == 0 && w.orderly() {
		if len(w.receives) == 0 {
			w.forget(m)
			return nil, nil
		}
		w.match(m)
	}
	if s.Last && !m.known {
		m.length, m.known = s.MO+n, true
	}
	return m, m.add(d, s.MO, n)
}

// orderly reports whether the receive that each SEND takes is known: no other connection takes receives of the same
// queue, and the target takes all kinds of SEND that came.
func (w *model) orderly() bool { return w.c.Alone && !w.varied }

// message returns the message of a key, a new one when the time of the previous one is over.
func (w *model) message(now vtime.Time, k key) *message {
	m := w.table[k]
	if m != nil {
		life := w.rec
		if !k.record {
			if life = w.reasm; !w.inTime(m) {
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

// inTime reports whether a SEND was whole before the target had to give it up. Late segments may make it whole after
// that, and are dropped.
func (w *model) inTime(m *message) bool { return m.whole.Sub(m.first) < w.reasm }

// forget removes the newest message.
func (w *model) forget(m *message) {
	delete(w.table, m.key)
	w.order = w.order[:len(w.order)-1]
}

// close closes a message.
func (w *model) close(m *message) {
	if w.table[m.key] == m {
		delete(w.table, m.key)
	}
	w.leave(m)
	w.now.closed = append(w.now.closed, m)
}

// event processes an event of either end.
func (w *model) event(e *trace.Event) {
	w.now = step{closed: w.now.closed[:0]}
	if !w.c.Mine(e) {
		w.now.m = w.ofTarget(e)
	} else if e.Kind == trace.Post {
		w.posts[w.c.Req]++
	}
}

// ofTarget processes an event of the target and returns the message that it concerns.
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
			m.ended = true
			w.leave(m)
			if e.Kind == trace.Lost && m.matched {
				w.giveBack(m.buf, e.At)
			}
		}
	case trace.Store:
		m, w.now.p = w.stored(e)
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

// stored finds the segment that was placed, and its message; nil when there is none. SENDs may be equal and in
// overlapping buffers: then the segment that arrived first is placed first, and completed messages were placed before.
// Among Write-Records it is the latest with such a segment.
func (w *model) stored(e *trace.Event) (of *message, first *part) {
	for _, m := range w.live {
		if p := m.waiting(e); p != nil && (first == nil || p.at < first.at || p.at == first.at &&
			p.record < first.record) {
			of, first = m, p
		}
	}
	for i := len(w.order) - 1; first == nil && i >= max(0, len(w.order)-scan); i-- {
		if m := w.order[i]; m.record {
			of, first = m, m.waiting(e)
		}
	}
	if first == nil {
		return nil, nil
	}
	first.stored = true
	return of, first
}
