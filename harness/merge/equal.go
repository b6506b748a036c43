package merge

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// choose returns, of the waiting packets that left before a time, the one whose delay would be closest to the typical
// delay, or the newest when no delay is known. Packets for which copyOf takes the frame for a copy of original are no
// candidates. A packet that cannot have arrived by now, or that, on a link without reordering, was sent before one that
// has arrived, is chosen only when there is no other.
func (m *merger) choose(waiting []*flight, at vtime.Time, original *flight) *flight {
	var best *flight
	var least vtime.Duration
	for _, f := range waiting {
		from, delay := f.Rec.From, at.Sub(f.left())
		if delay < 0 || m.copyOf(original, at, delay) {
			continue
		}
		off := delay
		if m.known[from] {
			off = max(delay-m.delay[from], m.delay[from]-delay)
		}
		if m.ordered && f.left() < m.latest[from] || delay < m.least[from]-slack {
			// chosen only without another: two processors may send packets past a tap in one order and through the link
			// in another
			off += m.window
		}
		if best == nil || off < least {
			best, least = f, off
		}
	}
	return best
}

// copyOf reports whether a frame that arrives at the given delay after a packet left is more likely a copy of original
// (nil: none): its delay is below the least delay of the link. Where the least delay is not known, half of the typical
// delay takes its place, and the original must have arrived since the packet left. With a deep queue the typical delay
// says little: a sender that goes back fills the queue, and packets sent after it has drained take a fraction of that
// delay.
func (m *merger) copyOf(original *flight, at vtime.Time, delay vtime.Duration) bool {
	if original == nil {
		return false
	}
	from := original.Rec.From
	if m.least[from] > 0 {
		return delay < m.least[from]-slack
	}
	return m.known[from] && delay < m.delay[from]/2 && at.Sub(original.Rec.Recv) <= delay
}

// recent holds the delays of the last packets of a sender.
type recent struct {
	delays [5]vtime.Duration
	n      int
}

// typical adds a delay and returns the delay to expect of the next packet: the same on a link without reordering,
// elsewhere the median, because a packet that overtakes others says nothing about their delay.
func (r *recent) typical(d vtime.Duration, ordered bool) vtime.Duration {
	r.delays[r.n%len(r.delays)] = d
	r.n++
	if ordered {
		return d
	}
	sorted := r.delays
	some := sorted[:min(r.n, len(sorted))]
	slices.Sort(some)
	return some[len(some)/2]
}

// straighten corrects earlier matches when f arrives. On a link without reordering, a packet that left after f and
// arrived before it shows that equal frames were mistaken for each other: choose compares their delays, and a link that
// stalls releases several at once, each with another delay. So their arrivals are reassigned in the order in which they
// left. None of them has been emitted, because f or an older packet was still awaited.
func (m *merger) straighten(f *flight) {
	from := f.Rec.From
	if !m.ordered || f.left() >= m.latest[from] {
		return
	}
	for _, g := range m.ahead(f) {
		if g.key == f.key {
			f.Rec.Recv, g.Rec.Recv = g.Rec.Recv, f.Rec.Recv
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
		m.delay[from] = f.Rec.Recv.Sub(f.Rec.Sent)
	}
}

// ahead lists the packets that left after f, in this order, and have arrived already.
func (m *merger) ahead(f *flight) (list []*flight) {
	for i := m.sent.Len() - 1; i >= 0 && m.sent.At(i) != f; i-- {
		if g := m.sent.At(i); g.matched && !g.altered && g.Rec.Fate == trace.Delivered && g.Rec.From == f.Rec.From &&
			g.left() > f.left() {
			list = append(list, g)
		}
	}
	slices.Reverse(list)
	return list
}

// before finds a packet with the bytes of g that left before f and is awaited: it may be the one that arrived. Packets
// that left at the same time, as far as taps can tell, may have passed the link in any order.
func (m *merger) before(f, g *flight) (e *flight) {
	if b := m.index.exact[g.key]; b != nil && g.left().Sub(f.left()) > slack {
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
	m.index.remove(e)
	e.Rec.Recv, e.Rec.Fate, e.settled, e.matched = g.Rec.Recv, trace.Delivered, true, true
	g.Rec.Recv, g.settled, g.matched = vtime.Never, false, false
	m.index.add(g)
	m.index.exact[g.key].last = e
}
