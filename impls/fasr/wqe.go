package fasr

import (
	"fmt"
	"sort"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/ring"
)

// maxMessage is the largest message of RC in bytes (IBTA 9.4). FaSR's three bytes of payload offset would end a SEND at
// 16 MiB; the header here has four.
const maxMessage = 1 << 31

// wqe is a work request in the send queue. Its packets exist only as the range of their PSNs.
type wqe struct {
	first, last psn.PSN // set when the first packet is made
	packets     int     // packets of data: of the request, or of a READ's responses
	sn          uint32  // which SEND, receive-taking WRITE, or READ it is: 24 bits, each kind counted for itself
	engine.WorkRequest

	data psn.PSN // READ: the PSN of its first response
	got  int     // READ: responses whose data is in memory
}

// psns returns how many request PSNs it takes: a READ takes one, because its responses have PSNs of their own.
func (w *wqe) psns() int {
	if w.Op == engine.OpRead {
		return 1
	}
	return w.packets
}

// takesReceive reports an operation that uses up a receive at the peer.
func (w *wqe) takesReceive() bool { return w.Op != engine.OpWrite && w.Op != engine.OpRead }

// sendQueue holds the work requests that have not completed, oldest first. The first begun of them have PSNs.
type sendQueue struct {
	ring.Ring[wqe]
	begun   int
	reads   int     // READs among the begun ones
	pkt     int     // packets of the newest begun one that were sent
	sends   uint32  // requests that take a receive, so far
	fetches uint32  // READs, so far
	data    psn.PSN // PSN of the next READ's first response
}

// mayBegin reports whether a request waits that may have its PSNs now: READs outstanding are limited by what the peer
// can serve, and what is behind one that has to wait does too, because requests go out in posting order (IBTA 9.4.4).
func (q *sendQueue) mayBegin(maxReads int) bool {
	return q.begun < q.Len() && (q.At(q.begun).Op != engine.OpRead || q.reads < maxReads)
}

// begin gives the next request its PSNs and its number.
func (q *sendQueue) begin(from psn.PSN) {
	w := q.At(q.begun)
	w.first, w.last = from, from.Add(w.psns()-1)
	switch {
	case w.Op == engine.OpRead:
		w.sn, w.data = q.fetches, q.data
		q.fetches = (q.fetches + 1) & psn.Mask
		q.data = q.data.Add(w.packets)
		q.reads++
	case w.takesReceive():
		w.sn = q.sends
		q.sends = (q.sends + 1) & psn.Mask
	}
	q.begun++
	q.pkt = 0
}

// finish removes the oldest request.
func (q *sendQueue) finish() {
	if q.At(0).Op == engine.OpRead {
		q.reads--
	}
	q.Drop()
	q.begun--
}

// owner returns the begun request that p belongs to; p was sent and is not acknowledged.
func (q *sendQueue) owner(p psn.PSN) *wqe {
	return q.At(sort.Search(q.begun-1, func(i int) bool { return p.LessEq(q.At(i).last) }))
}

// read returns the oldest READ whose data is not all there, or nil.
func (q *sendQueue) read() *wqe {
	for i := range q.begun {
		if w := q.At(i); w.Op == engine.OpRead && w.got < w.packets {
			return w
		}
	}
	return nil
}

// admit rejects a work request that is malformed or that the scheme has no packets for, and says how many packets of data
// a good one has.
func admit(qp *engine.QP, wr *engine.WorkRequest) (packets int, err error) {
	packets = qp.Packets(wr.Len)
	switch {
	case wr.Op > engine.OpFetchAdd:
		return 0, fmt.Errorf("fasr: work request %d: operation %d is not known", wr.ID, wr.Op)
	case wr.Op == engine.OpSendInv || wr.Op > engine.OpRead:
		return 0, fmt.Errorf("fasr: work request %d: %s has no packet format in FaSR; use SEND, WRITE or READ", wr.ID, wr.Op)
	case wr.Len > maxMessage:
		return 0, fmt.Errorf("fasr: work request %d: %d bytes; a message has 2^31 at most", wr.ID, wr.Len)
	case wr.Op == engine.OpRead && qp.MaxRdAtomic == 0:
		return 0, fmt.Errorf("fasr: work request %d: READ needs MaxRdAtomic of 1 or more", wr.ID)
	case packets >= psn.Half:
		return 0, fmt.Errorf("fasr: work request %d: %d packets; raise the MTU or split it", wr.ID, packets)
	}
	return packets, nil
}
