package recording

import (
	"iter"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// Limits of the requests that are remembered while a capture is read.
const (
	askedLimit = 1 << 16 // newest requests of all flows
	sameLimit  = 256     // requests with one key that an answer is compared with
)

// askedKey identifies the requests that an answer may answer: the direction between two hosts, by number (learner.way),
// and the PSN; and the frames among which it is sought.
type askedKey struct {
	way  int32
	psn  psn.PSN
	view view
}

// view is the frames of which an order is derived: all, or those of one tap. The clocks of two taps may differ, and a
// request passes the far tap long after the near one, so that only one tap shows what came before what.
type view uint8

// viewOf returns the view of a tap.
func viewOf(tap trace.Side) view { return 1 + view(tap&1) }

// asked is a request that was seen. Requests are numbered from 1.
type asked struct {
	key   askedKey
	flow  *flow
	older uint64 // number of the previous request in the same slot; 0 for none
	taken bool   // an answer was assigned to it, see learner.answer
	data  bool   // it is answered by data
}

// requests holds the newest requests in a ring, and a hash table from their keys to their numbers.
type requests struct {
	ring  []asked
	last  uint64   // number of the newest request
	slots []uint64 // number of the newest request per slot; 0 for none; the length is a power of two
	same  []*asked // result of the latest call of with
}

// slot returns the slot of a key. Consecutive PSNs of a flow have consecutive slots.
func (q *requests) slot(k askedKey) *uint64 {
	const spread = 0x9E3779B1
	at := uint32(k.psn) + (uint32(k.psn)>>16+uint32(k.way))*spread
	return &q.slots[at&uint32(len(q.slots)-1)]
}

// add adds a request, in place of the oldest when the ring is full.
func (q *requests) add(k askedKey, w *flow, data bool) {
	if n := len(q.ring); n < askedLimit {
		if n == len(q.slots) {
			q.grow()
		}
		q.ring = q.ring[:n+1]
	}
	q.last++
	slot := q.slot(k)
	q.ring[(q.last-1)%askedLimit] = asked{k, w, *slot, false, data}
	*slot = q.last
}

// grow doubles the room for requests, and the hash table.
func (q *requests) grow() {
	n := max(64, 2*len(q.slots))
	q.ring, q.slots = append(make([]asked, 0, n), q.ring...), make([]uint64, n)
	for i := range q.last {
		a := &q.ring[i]
		slot := q.slot(a.key)
		a.older, *slot = *slot, i+1
	}
}

// each yields at most sameLimit requests with key k and their numbers, the newest first.
func (q *requests) each(k askedKey) iter.Seq2[uint64, *asked] {
	return func(yield func(uint64, *asked) bool) {
		if len(q.slots) == 0 {
			return
		}
		left := sameLimit
		for n := *q.slot(k); n != 0 && n+askedLimit > q.last && left > 0; {
			a := &q.ring[(n-1)%askedLimit]
			if a.key == k {
				if left--; !yield(n, a) {
					return
				}
			}
			n = a.older
		}
	}
}

// with returns the requests with key k that have no answer, the newest first; the list is valid until the next call.
func (q *requests) with(k askedKey) []*asked {
	q.same = q.same[:0]
	for _, a := range q.each(k) {
		if !a.taken && !a.flow.answered {
			q.same = append(q.same, a)
		}
	}
	return q.same
}

// only returns the one flow that has sent requests with key k; nil when there are several flows, or sameLimit requests,
// or when an answer of data fits none of them.
func (q *requests) only(k askedKey, data bool) (one *flow) {
	seen, fits := 0, !data
	for _, a := range q.each(k) {
		if seen++; seen == sameLimit || one != nil && one != a.flow {
			return nil
		}
		one, fits = a.flow, fits || a.data
	}
	if !fits {
		return nil
	}
	return one
}
