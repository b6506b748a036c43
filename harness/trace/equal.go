package trace

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// choose returns the packet that left before a time and whose delay would be closest to the last one, or the newest when
// there was none. Where the link has told what it lost and held back, the oldest of the others must have arrived: equal
// frames keep their order. When the frame could also be a copy of one that has arrived, a delay that no packet can have rules
// that out, and where nobody knows what that is, one below half the last. Those that can have arrived by now, and that were sent
// after what has arrived where no packet overtakes another, come first.
func (m *merger) choose(waiting []*flight, at vtime.Time, orCopy bool) *flight {
	var best *flight
	var least vtime.Duration
	for _, f := range waiting {
		from, delay := f.rec.From, at.Sub(f.left())
		if delay < 0 || orCopy && delay < m.possible(from) {
			continue
		}
		if m.told && f.cause == "" {
			return f
		}
		off := delay
		if m.known[from] {
			off = max(delay-m.delay[from], m.delay[from]-delay)
		}
		if m.ordered && f.left() < m.latest[from] || delay < m.least[from]-slack {
			off += m.window // only when there is no other: two processors may pass a tap in one order and the link in another
		}
		if best == nil || off < least {
			best, least = f, off
		}
	}
	return best
}

// possible is the least delay that a packet can have, as far as it is known. With a deep queue the last one says little: a
// sender that goes back fills it, and what is sent when it has emptied takes a fraction of the time.
func (m *merger) possible(from Side) vtime.Duration {
	switch {
	case m.least[from] > 0:
		return m.least[from] - slack
	case m.known[from]:
		return m.delay[from] / 2
	}
	return 0
}

// straighten is told that f has arrived. Where no packet overtakes another, one that left after f and arrived before it shows that
// equal frames were taken for one another: their delays are compared, and a link that stalls lets several go at once, each after
// another time. So their arrivals are dealt out anew, in the order in which they left. None of them has been emitted, because f or
// an older one was still awaited.
func (m *merger) straighten(f *flight) {
	from := f.rec.From
	if !m.ordered || f.left() >= m.latest[from] {
		return
	}
	for _, g := range m.ahead(f) {
		if g.key == f.key {
			f.rec.Recv, g.rec.Recv = g.rec.Recv, f.rec.Recv
			f = g
		} else if e := m.before(f, g); e != nil {
			m.instead(e, g)
		}
	}
	m.latest[from] = f.left()
	for _, g := range m.ahead(f) {
		m.latest[from] = max(m.latest[from], g.left())
	}
	if f.cause == "" {
		m.delay[from] = f.rec.Recv.Sub(f.rec.Sent)
	}
}

// ahead lists the packets that left after f, in this order, and have arrived already.
func (m *merger) ahead(f *flight) (list []*flight) {
	for i := m.sent.n - 1; i >= 0 && m.sent.at(i) != f; i-- {
		if g := m.sent.at(i); g.matched && g.rec.Fate == Delivered && g.rec.From == f.rec.From && g.left() > f.left() {
			list = append(list, g)
		}
	}
	slices.Reverse(list)
	return list
}

// before finds a packet with the bytes of g that left before f and is awaited: it may be the one that arrived. Packets that left at
// the same time, as far as taps can tell, may have passed the link in any order.
func (m *merger) before(f, g *flight) (e *flight) {
	if b := m.exact[g.key]; b != nil && g.left().Sub(f.left()) > slack {
		for _, w := range b.waiting {
			if w.left() < f.left() {
				e = w
			}
		}
	}
	return e
}

// instead makes e the one that arrived when g was thought to have.
func (m *merger) instead(e, g *flight) {
	m.unwait(e)
	e.rec.Recv, e.rec.Fate, e.settled, e.matched = g.rec.Recv, Delivered, true, true
	g.rec.Recv, g.settled, g.matched = vtime.Never, false, false
	wait(m.exact, g.key, g)
	wait(m.loose, g.loose, g)
	m.exact[g.key].last = e
}
