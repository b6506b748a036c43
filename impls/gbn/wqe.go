package gbn

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/ring"
)

// wqe is a work request in the send queue. Its packets exist only as the range of their PSNs: the state of a message of
// two gigabytes is that of one byte, and nothing is allocated per packet.
type wqe struct {
	first, last psn.PSN // set when the first packet is made
	packets     int     // how many PSNs it takes: for a READ those of its responses
	engine.WorkRequest
}

// fetches reports whether the request brings data back, so that it completes by data and not by an ACK.
func (w *wqe) fetches() bool { return w.Op >= engine.OpRead }

// sendQueue holds the work requests that have not completed, oldest first, and the cursor of transmission.
//
//	0         cur                    begun                n
//	|  sent    |  to be sent again     |  never sent, no     |
//	|          |                       |  PSNs yet           |
//
// While nothing is retransmitted, cur is begun, or the last begun request when some of its packets are still to come.
type sendQueue struct {
	ring.Ring[wqe]
	begun    int // requests that have PSNs; the others wait behind them
	cur      int // index of the request whose packet goes next; n when all are sent
	pkt      int // index of that packet in its request
	fetching int // READs and atomics among the begun ones
}

// begin gives the next request its PSNs, which follow those of its predecessor without a gap (IBTA 9.7.1).
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
	// The cursor stands in the removed request when an ACK overtakes a retransmission; the caller then seeks.
	if q.cur > 0 {
		q.cur--
	}
}

// seek puts the cursor on una, the oldest PSN that is not acknowledged. It lies in the oldest request, or is the first
// PSN of a request that has not begun; so finding it takes no search, however long the queue is.
func (q *sendQueue) seek(una psn.PSN) {
	q.cur, q.pkt = 0, 0
	if q.begun > 0 {
		q.pkt = una.Sub(q.At(0).first)
	}
}

// owner returns the begun request that p belongs to; the caller has checked that p was sent and is not acknowledged.
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
