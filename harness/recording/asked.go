package recording

import (
	"iter"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
)

// Limits of the requests that are remembered.
const (
	askedLimit = 1 << 16 // newest requests, of all flows, for which an answer is awaited
	sameLimit  = 256     // of those, the ones with one PSN between two hosts that an answer is held against
)

// askedKey is what an answer shows of the request that it answers: the direction between two hosts in which that went,
// by number, and its PSN.
type askedKey struct {
	way int32
	psn psn.PSN
}

// asked is a request that was seen. Numbers count from 1.
type asked struct {
	key   askedKey
	flow  *flow
	older uint64 // number of the one before in the same slot; 0 for none
	taken bool   // an answer was for it, as far as anyone can tell
}

// requests are the newest ones, found by their keys through a table of slots.
type requests struct {
	ring  []asked
	last  uint64   // number of the newest
	slots []uint64 // numbers of the newest in each slot; their number is a power of two
	same  []*asked // of the latest look-up
}

// slot returns that of a key. The PSNs of a flow are in a row, and so are their slots.
func (q *requests) slot(k askedKey) *uint64 {
	const spread = 0x9E3779B1
	at := uint32(k.psn) + (uint32(k.psn)>>16+uint32(k.way))*spread
	return &q.slots[at&uint32(len(q.slots)-1)]
}

// add remembers a request, in place of the oldest.
func (q *requests) add(k askedKey, w *flow) {
	if n := len(q.ring); n < askedLimit {
		q.ring = append(q.ring, asked{})
		if n == len(q.slots) {
			q.grow()
		}
	}
	q.last++
	slot := q.slot(k)
	q.ring[(q.last-1)%askedLimit] = asked{k, w, *slot, false}
	*slot = q.last
}

// grow doubles the table.
func (q *requests) grow() {
	q.slots = make([]uint64, max(64, 2*len(q.slots)))
	for i := range q.last {
		a := &q.ring[i]
		slot := q.slot(a.key)
		a.older, *slot = *slot, i+1
	}
}

// each yields the requests with key k, the newest first and no more than the limit.
func (q *requests) each(k askedKey) iter.Seq[*asked] {
	return func(yield func(*asked) bool) {
		if len(q.slots) == 0 {
			return
		}
		left := sameLimit
		for n := *q.slot(k); n != 0 && n+askedLimit > q.last && left > 0; {
			a := &q.ring[(n-1)%askedLimit]
			if a.key == k {
				if left--; !yield(a) {
					return
				}
			}
			n = a.older
		}
	}
}

// with returns the requests with key k that nothing has answered, the newest first; the list is valid until the next
// call.
func (q *requests) with(k askedKey) []*asked {
	q.same = q.same[:0]
	for a := range q.each(k) {
		if !a.taken && !a.flow.answered {
			q.same = append(q.same, a)
		}
	}
	return q.same
}

// only returns the flow that has sent a request with key k, if no other has; nil when several have, or too many to look
// at.
func (q *requests) only(k askedKey) (one *flow) {
	seen := 0
	for a := range q.each(k) {
		if seen++; seen == sameLimit || one != nil && one != a.flow {
			return nil
		}
		one = a.flow
	}
	return one
}
