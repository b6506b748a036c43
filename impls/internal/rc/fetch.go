package rc

import (
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/ring"
)

// Fetch is a READ or an atomic that a responder is answering: its responses have the PSNs [Data, Data+Packets).
type Fetch struct {
	Kind    Kind
	Data    psn.PSN
	Packets int
	VA      uint64
	Length  uint32
	SN      uint32 // its number among READs and atomics
	MSN     psn.MSN
	Result  uint64 // atomic: what it found
}

// End returns the PSN behind that of the last response.
func (x *Fetch) End() psn.PSN { return x.Data.Add(x.Packets) }

// Fetches holds the READs and atomics whose responses are not all acknowledged, oldest first.
type Fetches struct {
	ring.Ring[Fetch]
	SN   uint32  // the number that the next one must bear
	next psn.PSN // PSN of its first response
	cur  int     // the one whose response goes next
}

// NewFetches returns a queue whose responses begin with the PSN first.
func NewFetches(first psn.PSN) Fetches { return Fetches{next: first} }

// Room reports whether one more with this number of packets can be taken. When there are depth of them, as many as were
// agreed, the requester has the data of the oldest, or would not ask; unless its responses have not all been sent,
// which are those before sent. The PSNs from una on must be told apart (IBTA 9.7.2).
func (q *Fetches) Room(depth, packets int, una, sent psn.PSN) bool {
	return (q.Len() < depth || q.Len() > 0 && q.At(0).End().LessEq(sent)) && q.next.Sub(una)+packets < psn.Half
}

// Add gives one its number and its PSNs.
func (q *Fetches) Add(x Fetch) {
	x.SN, x.Data = q.SN, q.next
	q.Push(x)
	q.SN = (q.SN + 1) & psn.Mask
	q.next = q.next.Add(x.Packets)
}

// Next returns the one that the response with PSN next belongs to, which is the next that was never sent; nil when all
// have been sent.
func (q *Fetches) Next(next psn.PSN) *Fetch {
	if q.cur < q.Len() && q.At(q.cur).End() == next {
		q.cur++
	}
	if q.cur == q.Len() {
		return nil
	}
	return q.At(q.cur)
}

// Owner returns the one that response p belongs to; p is not acknowledged.
func (q *Fetches) Owner(p psn.PSN) *Fetch {
	i := 0
	for q.At(i).End().LessEq(p) {
		i++
	}
	return q.At(i)
}

// Forget drops those whose responses are all before una.
func (q *Fetches) Forget(una psn.PSN) {
	for q.Len() > 0 && q.At(0).End().LessEq(una) {
		q.Drop()
		q.cur = max(0, q.cur-1)
	}
}

// Clear forgets all. The next one's number and PSNs go on.
func (q *Fetches) Clear() {
	q.Ring.Clear()
	q.cur = 0
}
