package diw

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// match gives a SEND the oldest receive.
func (w *model) match(m *message) {
	if !m.matched {
		w.live = append(w.live, m)
	}
	m.buf, m.matched, w.receives = w.receives[0], true, w.receives[1:]
	m.base = m.buf.va
	w.holders[m.buf.id] = m
}

// leave removes a message that has ended from live.
func (w *model) leave(m *message) {
	if i := slices.Index(w.live, m); i >= 0 {
		w.live = slices.Delete(w.live, i, i+1)
	}
}

// giveBack puts a receive before all others. A SEND that began at that instant, and for which no placement was
// reported, has not taken its receive yet: the order of the target's actions shows in its events, not at the tap.
func (w *model) giveBack(b buffer, now vtime.Time) {
	first := len(w.order)
	for first > 0 && w.order[first-1].first == now {
		first--
	}
	queue, begun := []buffer{b}, []*message(nil)
	for _, m := range w.order[first:] {
		if m.matched && !m.ended && !slices.ContainsFunc(m.parts, func(p part) bool { return p.stored }) {
			queue, begun = append(queue, m.buf), append(begun, m)
			delete(w.holders, m.buf.id)
		}
	}
	w.receives = append(queue, w.receives...)
	for _, m := range begun {
		w.match(m)
	}
}

// holding returns the SEND that an event of a receive concerns: the holder of the buffer, or where that is not known
// the oldest that fits. One that is given up may have come whole, where the host had no room to join its fragments.
func (w *model) holding(e *trace.Event) (whole *message) {
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
		case e.Kind == trace.Lost && whole == nil:
			whole = m
		}
	}
	return whole
}
