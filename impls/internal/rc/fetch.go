package rc

import (
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/ring"
)

// Fetch is a READ or an atomic that a responder is answering: its responses have the PSNs [Data, Data+Packets).
type Fetch struct {
	Kind    Kind    // Read or Atomic
	Data    psn.PSN // PSN of the first response
	Packets int     // number of responses
	VA      uint64  // remote address of the data
	Length  uint32  // bytes of READ data
	SN      uint32  // number of the request among READs and atomics, modulo 2^24
	MSN     psn.MSN // MSN that the responses carry
	Result  uint64  // original value that an atomic returned
}

// End returns the PSN after that of the last response.
func (x *Fetch) End() psn.PSN { return x.Data.Add(x.Packets) }

// Fetches holds the READs and atomics whose responses are not all acknowledged, oldest first.
type Fetches struct {
	ring.Ring[Fetch]
	SN   uint32  // number that the next READ or atomic must carry; incremented by Add, modulo 2^24
	next psn.PSN // PSN of the first response to the next READ or atomic
	cur  int     // index of the entry whose response is sent next; Len() when all responses have been sent
}

// NewFetches returns a queue whose responses begin with the PSN first.
func NewFetches(first psn.PSN) Fetches { return Fetches{next: first} }

// Room reports whether one more READ or atomic with this number of responses can be taken. depth is the agreed number
// of outstanding requests. A requester that sends one more than depth has the data of the oldest, provided that all
// responses to the oldest were sent, that is, have PSNs before sent. The response PSNs from una on must span fewer than
// 2^23 (IBTA 9.7.2).
func (q *Fetches) Room(depth, packets int, una, sent psn.PSN) bool {
	return (q.Len() < depth || q.Len() > 0 && q.At(0).End().LessEq(sent)) && q.next.Sub(una)+packets < psn.Half
}

// Add assigns x its number and its response PSNs, and appends it.
func (q *Fetches) Add(x Fetch) {
	x.SN, x.Data = q.SN, q.next
	q.Push(x)
	q.SN = (q.SN + 1) & psn.Mask
	q.next = q.next.Add(x.Packets)
}

// Next returns the entry that the response with PSN next belongs to, where next is the lowest PSN never sent; or nil if
// all responses have been sent.
func (q *Fetches) Next(next psn.PSN) *Fetch {
	if q.cur < q.Len() && q.At(q.cur).End() == next {
		q.cur++
	}
	if q.cur == q.Len() {
		return nil
	}
	return q.At(q.cur)
}

// Owner returns the entry that response p belongs to; p is not acknowledged.
func (q *Fetches) Owner(p psn.PSN) *Fetch {
	i := 0
	for q.At(i).End().LessEq(p) {
		i++
	}
	return q.At(i)
}

// Forget drops the entries whose responses all have PSNs before una.
func (q *Fetches) Forget(una psn.PSN) {
	for q.Len() > 0 && q.At(0).End().LessEq(una) {
		q.Drop()
		q.cur = max(0, q.cur-1)
	}
}

// Clear drops all entries. The numbers and PSNs of later entries continue without a gap.
func (q *Fetches) Clear() {
	q.Ring.Clear()
	q.cur = 0
}
