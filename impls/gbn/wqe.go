package gbn

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/ring"
)

// wqe is a work request in the send queue. Its packets are represented by the range of their PSNs only: a message of
// two gigabytes has the same state as one of one byte, and nothing is allocated per packet.
type wqe struct {
	first, last psn.PSN // PSNs of the first and last packet, last = first+packets-1; set when the request begins
	packets     int     // PSNs that the request takes: for a READ those of its responses
	engine.WorkRequest
}

// fetches reports whether the request is a READ or an atomic, which response data completes and not an ACK.
func (w *wqe) fetches() bool { return w.Op >= engine.OpRead }

// sendQueue holds the work requests that have not completed, oldest first, and the cursor of transmission.
//
//	0         cur                    begun                n
//	|  sent    |  to be sent again     |  never sent, no     |
//	|          |                       |  PSNs yet           |
//
// While nothing is retransmitted, cur is begun, or begun-1 if some packets of the last begun request were never sent.
//
// Invariant: 0 <= cur <= begun <= n outside a method.
type sendQueue struct {
	ring.Ring[wqe]
	begun    int // requests that have PSNs: those with an index below begun
	cur      int // index of the request whose packet is sent next; n when all are sent
	pkt      int // index of that packet in its request
	fetching int // READs and atomics with an index below begun
}

// begin assigns PSNs to the next request, which follow those of its predecessor without a gap (IBTA 9.7.1).
func (q *sendQueue) begin(from psn.PSN) {
	w := q.At(q.begun)
	w.first, w.last = from, from.Add(w.packets-1)
	q.begun++
	if w.fetches() {
		q.fetching++
	}
}

// finish removes the oldest request.
func (q *sendQueue) finish() {
	if q.At(0).fetches() {
		q.fetching--
	}
	q.Drop()
	q.begun--
	// If an ACK overtakes a retransmission, the cursor is in the removed request; the caller then calls seek.
	if q.cur > 0 {
		q.cur--
	}
}

// seek moves the cursor to una, the oldest unacknowledged PSN. That PSN is in the oldest request, or is the first PSN
// of a request that has not begun, so that seek takes constant time at any queue length.
func (q *sendQueue) seek(una psn.PSN) {
	q.cur, q.pkt = 0, 0
	if q.begun > 0 {
		q.pkt = una.Sub(q.At(0).first)
	}
}

// owner returns the begun request that p belongs to; p is in [una, max).
func (q *sendQueue) owner(p psn.PSN) *wqe {
	low, high := 0, q.begun-1
	for low < high {
		if mid := (low + high) / 2; q.At(mid).last.Less(p) {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return q.At(low)
}
