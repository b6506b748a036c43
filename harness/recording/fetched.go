package recording

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// fetched follows the READs and atomics of one half-conversation at a tap, and the answers to them. An answer that has
// not passed, although a later one has, was lost before the tap or by the capture, or was never sent. When the request
// for just that comes again, the requester has not got it either; else nobody knows.
type fetched struct {
	due   []stretch // asked for at last and not answered yet, oldest first
	asked []asking  // the newest
	holes []stretch // answers that have not passed, although later ones have
}

// asking is data that were asked for.
type asking struct {
	stretch
	atomic bool // of an atomic, not a READ
	left   int  // how often they were asked for and have not begun to come
}

// stretch is PSNs from one up to another.
type stretch struct{ from, to psn.PSN }

func (x stretch) has(p psn.PSN) bool { return p.In(x.from, x.to) }

// fetchLimit bounds each list; the oldest is forgotten.
const fetchLimit = 64

func remember[T any](list []T, x T) []T {
	if len(list) == fetchLimit {
		list = slices.Delete(list, 0, 1)
	}
	return append(list, x)
}

// request takes a READ or atomic. It returns answers that the capture lacks: the requester asks for others than those
// that it had missed first.
func (f *fetched) request(p, end psn.PSN, atomic bool) (lacking []psn.PSN) {
	x := stretch{p, end}
	f.holes = slices.DeleteFunc(f.holes, func(h stretch) bool {
		if !x.has(h.from) {
			return false
		}
		if h.from != p {
			lacking = append(lacking, h.from)
		}
		return true
	})
	f.due = slices.DeleteFunc(f.due, func(d stretch) bool { return d.from.Less(end) && p.Less(d.to) })
	f.due = remember(f.due, x)
	left := 1
	f.asked = slices.DeleteFunc(f.asked, func(a asking) bool {
		if a.from == p {
			left += max(0, a.left)
		}
		return a.from == p
	})
	f.asked = remember(f.asked, asking{x, atomic, left})
	return lacking
}

// asking returns of the data that were asked for those that p is of; nil when they were not, as far as is remembered.
func (f *fetched) asking(p psn.PSN) *asking {
	for i := len(f.asked) - 1; i >= 0; i-- {
		if f.asked[i].has(p) {
			return &f.asked[i]
		}
	}
	return nil
}

// refused takes an answer that asks for p and all behind it again.
func (f *fetched) refused(p psn.PSN) {
	f.due = slices.DeleteFunc(f.due, func(x stretch) bool { return p.LessEq(x.from) })
}

// acknowledged takes an ACK of p, which is no answer to what asks for data.
func (f *fetched) acknowledged(p psn.PSN) {
	f.answered(p)
	f.forget(p)
}

// forget gives up what was answered wrongly: that is for rules to judge.
func (f *fetched) forget(p psn.PSN) {
	f.due = slices.DeleteFunc(f.due, func(x stretch) bool { return x.has(p) })
	f.asked = slices.DeleteFunc(f.asked, func(a asking) bool { return a.has(p) })
}

// answered takes a positive answer to p or what lies behind. Answers come in the order of the requests, so all before p
// have.
func (f *fetched) answered(p psn.PSN) {
	f.due = slices.DeleteFunc(f.due, func(x stretch) bool {
		if p.Less(x.to) {
			return false
		}
		f.holes = remember(f.holes, x)
		return true
	})
}

// data takes an answer with data to p. It reports whether the capture lacks the request: the answer came once more, and
// nobody asked for it.
func (f *fetched) data(p psn.PSN, atomic bool) (unasked bool) {
	f.answered(p)
	if a := f.asking(p); a != nil {
		if a.atomic != atomic {
			f.forget(p)
			return false
		}
		if p == a.from {
			a.left--
			unasked = a.left < 0 && !slices.ContainsFunc(f.due, func(x stretch) bool { return a.has(x.from) })
		}
	}
	for i := range f.holes {
		if f.holes[i].has(p) { // it comes late
			f.fill(i, p)
			return unasked
		}
	}
	if at := slices.IndexFunc(f.due, func(x stretch) bool { return x.has(p) }); at >= 0 {
		x := &f.due[at]
		if x.from != p {
			f.holes = remember(f.holes, stretch{x.from, p})
		}
		if x.from = p.Next(); x.from == x.to {
			f.due = slices.Delete(f.due, at, at+1)
		}
	}
	return unasked
}

// fill takes p out of a hole.
func (f *fetched) fill(i int, p psn.PSN) {
	h := f.holes[i]
	f.holes = slices.Delete(f.holes, i, i+1)
	for _, left := range []stretch{{h.from, p}, {p.Next(), h.to}} {
		if left.from != left.to {
			f.holes = remember(f.holes, left)
		}
	}
}

// numberedApart follows the data of a READ, or an acknowledgement of such. They are to one another what a request and
// its answer are.
func (l *lack) numberedApart(s *sighting) {
	if l.apart == nil {
		l.apart = new(lack)
	}
	l.apart.passes(s)
	if !s.opcode.IsReadAck() {
		l.apart.request(s.psn, s.psn.Next())
		return
	}
	l.apart.before(s.psn)
	l.apart.acknowledged(s.psn)
	if s.opcode.Layout()&roce.LayoutSACKETH != 0 {
		l.apart.received(s.sack)
	}
}

// apartOf returns what a tap lacks of the data of READs.
func apartOf(l *lack) *lack {
	if l == nil || l.apart == nil {
		return &lack{}
	}
	return l.apart
}
