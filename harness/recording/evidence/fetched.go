package evidence

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// answeredInOrder reports a request whose data answer it in the PSN space of the requests: an atomic, or a READ of the
// RC class. The schemes that number READ responses apart acknowledge the request like any other.
func (s *Sighting) answeredInOrder() bool { return s.Opcode == roce.ReadRequest || s.Opcode.IsAtomic() }

// fetched follows the READs and atomics of one half-conversation at a tap, and the answers to them. An answer that has
// not passed, although a later one has, was lost before the tap or by the capture, or was never sent. If the requester
// requests it again, the requester lacks it too; otherwise the cause is unknown.
type fetched struct {
	due   []stretch // PSNs of the latest requests that are not answered yet, oldest first
	asked []asking  // the newest requests
	holes []stretch // answers that have not passed, although later ones have
	had   []stretch // the latest data that have passed
}

// asking is a request for data.
type asking struct {
	stretch
	atomic bool // the request is an atomic, not a READ
	left   int  // transmissions of the request minus answers that began; negative when the capture lacks a request
}

// stretch is the PSNs [from, to).
type stretch struct{ from, to psn.PSN }

func (x stretch) has(p psn.PSN) bool { return p.In(x.from, x.to) }

// without returns the parts of a stretch before and after the PSNs [p, end); both may be empty.
func (x stretch) without(p, end psn.PSN) (before, after stretch) {
	if x.to.LessEq(p) || end.LessEq(x.from) {
		return x, after
	}
	if x.from.Less(p) {
		before = stretch{x.from, p}
	}
	if end.Less(x.to) {
		after = stretch{end, x.to}
	}
	return before, after
}

func (x stretch) empty() bool { return x.from == x.to }

// fetchLimit bounds each list; beyond it the oldest element is dropped.
const fetchLimit = 64

func remember[T any](list []T, x T) []T {
	if len(list) == fetchLimit {
		list = slices.Delete(list, 0, 1)
	}
	return append(list, x)
}

// request processes a READ or atomic, whose data are awaited from p on. It may ask again for data that have come, and
// then tells nothing of those behind them that have not passed.
func (f *fetched) request(p, end psn.PSN, atomic bool) {
	x := stretch{p, end}
	f.holes = slices.DeleteFunc(f.holes, func(h stretch) bool { return x.has(h.from) })
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
}

// asking returns the newest request whose data include p; nil when none is remembered.
func (f *fetched) asking(p psn.PSN) *asking {
	for i := len(f.asked) - 1; i >= 0; i-- {
		if f.asked[i].has(p) {
			return &f.asked[i]
		}
	}
	return nil
}

// acknowledged processes an ACK of p. It is no answer to a READ or atomic, but it may be one to a duplicate of an
// earlier request, which names the newest one completed.
func (f *fetched) acknowledged(p psn.PSN) {
	f.answered(p)
	f.due = slices.DeleteFunc(f.due, func(x stretch) bool { return x.has(p) })
}

// forget drops a request that was answered wrongly; rules judge that.
func (f *fetched) forget(p psn.PSN) {
	f.due = slices.DeleteFunc(f.due, func(x stretch) bool { return x.has(p) })
	f.asked = slices.DeleteFunc(f.asked, func(a asking) bool { return a.has(p) })
}

// passed records data with PSN p.
func (f *fetched) passed(p psn.PSN) {
	if n := len(f.had); n > 0 && f.had[n-1].to == p {
		f.had[n-1].to = p.Next()
		return
	}
	f.had = remember(f.had, stretch{p, p.Next()})
}

// hasPassed reports whether all the data of a stretch have passed, whenever that was.
func (f *fetched) hasPassed(x stretch) bool {
	for x.from.Less(x.to) {
		at := slices.IndexFunc(f.had, func(h stretch) bool { return h.has(x.from) })
		if at < 0 {
			return false
		}
		x.from = f.had[at].to
	}
	return true
}

// answered processes a positive answer to p. Answers leave in the order of the requests, so all before p were answered.
func (f *fetched) answered(p psn.PSN) {
	f.due = slices.DeleteFunc(f.due, func(x stretch) bool {
		if p.Less(x.to) {
			return false
		}
		f.holes = remember(f.holes, x)
		return true
	})
}

// data processes an answer with data for p, which starts a message or goes on with one. It reports whether the capture
// lacks the request: the answer was repeated without a repeated request, from its first PSN or from within.
func (f *fetched) data(p psn.PSN, atomic, starts bool) (unasked bool) {
	f.answered(p)
	f.passed(p)
	if a := f.asking(p); a != nil {
		if a.atomic != atomic {
			f.forget(p)
			return false
		}
		if p == a.from && starts {
			a.left--
		}
		again := a.left < 0
		if p != a.from { // an answer that had not passed may come late, and another request may be answered wrongly
			open := func(x asking) bool { return x.left > 0 && a.has(x.from) }
			again = !slices.ContainsFunc(f.holes, func(x stretch) bool { return x.has(p) }) &&
				!slices.ContainsFunc(f.asked, open)
		}
		unasked = starts && again && !slices.ContainsFunc(f.due, func(x stretch) bool { return a.has(x.from) })
	}
	for i := range f.holes {
		if f.holes[i].has(p) { // the answer comes late
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

// fill removes p from a hole.
func (f *fetched) fill(i int, p psn.PSN) {
	h := f.holes[i]
	f.holes = slices.Delete(f.holes, i, i+1)
	for _, left := range []stretch{{h.from, p}, {p.Next(), h.to}} {
		if !left.empty() {
			f.holes = remember(f.holes, left)
		}
	}
}

// numberedApart processes a READ response in a PSN space of its own, or the acknowledgement of one. They are treated
// like a request and its answer.
func (l *lack) numberedApart(s *Sighting) {
	if l.apart == nil {
		l.apart = new(lack)
	}
	l.apart.passes(s)
	if !s.Opcode.IsReadAck() {
		l.apart.twice(&l.apart.requests, s)
		l.apart.middle = l.apart.middle || !l.begun // nothing that was seen asked for the data
		l.apart.request(s.PSN, s.PSN.Next())
		return
	}
	l.apart.twice(&l.apart.answers, s)
	l.apart.before(s.PSN)
	l.apart.acknowledged(s.PSN)
	if s.selective() && s.SACK != s.PSN { // else it is cumulative alone
		l.apart.received(s.SACK)
	}
}

// apartOf returns the lack of READ responses in a PSN space of their own; an empty one when there is none.
func apartOf(l *lack) *lack {
	if l == nil || l.apart == nil {
		return &lack{}
	}
	return l.apart
}
