package evidence

import (
	"maps"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
)

// holes holds the requests before the newest that have not passed, and those that were sent again: what a responder at
// the place of the tap lacks if it keeps requests that are early.
type holes struct {
	list []stretch // in order
	// for each request that was sent again to such a responder, and is not acknowledged: the newest PSN at that time
	sent map[psn.PSN]psn.PSN
}

// leave notes that the requests [from, to) did not pass before a later one.
func (h *holes) leave(from, to psn.PSN) {
	if from.Less(to) && len(h.list) < holeLimit {
		h.list = append(h.list, stretch{from, to})
	}
}

// again notes that the requests [p, end) pass after a later one, up to newest. Keeps says that the responder is known
// to keep what is early.
func (h *holes) again(p, end, newest psn.PSN, keeps bool) {
	h.fill(p, end)
	switch {
	case !keeps || len(h.sent) == resendLimit:
	case h.sent == nil:
		h.sent = map[psn.PSN]psn.PSN{p: newest}
	default:
		h.sent[p] = newest
	}
}

// fill takes the PSNs [p, end) from the holes.
func (h *holes) fill(p, end psn.PSN) {
	var left []stretch
	for _, x := range h.list {
		before, after := x.without(p, end)
		left = append(left, before, after)
	}
	h.list = slices.DeleteFunc(left, stretch.empty)
}

// acknowledged forgets request p and all before it.
func (h *holes) acknowledged(p psn.PSN) {
	if len(h.list) > 0 {
		h.list = slices.DeleteFunc(h.list, func(x stretch) bool { return x.to.LessEq(p.Next()) })
	}
	if len(h.sent) > 0 {
		maps.DeleteFunc(h.sent, func(q, _ psn.PSN) bool { return q.LessEq(p) })
	}
}

// first returns the oldest request that has not passed, or the one after the newest.
func (h *holes) first(newest psn.PSN) psn.PSN {
	if len(h.list) == 0 {
		return newest
	}
	return h.list[0].from
}

// repaired reports whether a request was sent again.
func (h *holes) repaired(p psn.PSN) bool {
	_, sent := h.sent[p]
	return sent
}

// crossed reports whether a selective answer asks for a request that was sent again after the request on whose arrival
// the answer was sent: the two may have passed each other.
func (h *holes) crossed(s *Sighting) bool {
	newest, sent := h.sent[s.PSN]
	return sent && s.selective() && s.SACK.Less(newest)
}
