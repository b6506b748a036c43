package merge

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// choose returns the packet that left before a time and whose delay would be closest to the typical one, or the newest
// when none is known. Where the frame is rather a copy of an original than they, they are out of the question, and
// those that can have arrived by now, and that were sent after what has arrived where no packet overtakes another, come
// first.
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
			// only when there is no other: two processors may pass a tap in one order and the link in another
			off += m.window
		}
		if best == nil || off < least {
			best, least = f, off
		}
	}
	return best
}

// copyOf reports whether what arrives so long after a packet left is rather a copy of an original, nil when there is
// none: when it arrives earlier than a packet can. Where nobody knows what that is, or packets may overtake others, it
// is half of what is typical, and the original has arrived since the packet left. With a deep queue the typical delay
// says little: a sender that goes back fills it, and what is sent when it has emptied takes a fraction of the time.
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

// recent is what the last packets of a sender took.
type recent struct {
	delays [5]vtime.Duration
	n      int
}

// typical takes one more delay and returns what is to be expected of the next: the same where no packet overtakes
// another, and elsewhere the median, because one that overtakes says nothing of the others.
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

// straighten is told that f has arrived. Where no packet overtakes another, one that left after f and arrived before it
// shows that equal frames were taken for one another: their delays are compared, and a link that stalls lets several go
// at once, each after another time. So their arrivals are dealt out anew, in the order in which they left. None of them
// has been emitted, because f or an older one was still awaited.
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
