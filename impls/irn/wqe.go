package irn

import (
	"fmt"
	"sort"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/ring"
)

// maxMessage is the largest message of RC in bytes (IBTA 9.4).
const maxMessage = 1 << 31

// wqe is a work request in the send queue. Its packets exist only as the range of their PSNs.
type wqe struct {
	first, last psn.PSN // set when the first packet is made
	packets     int     // packets of data: of the request, or of the responses to it
	sn          uint32  // recv_WQE_SN or read_WQE_SN, 24 bits
	engine.WorkRequest
	data psn.PSN // READ and atomic: the rPSN of the first response
}

// fetches reports a request whose answer is data, with sequence numbers of its own.
func (w *wqe) fetches() bool { return w.Op >= engine.OpRead }

// psns returns how many sPSNs it takes: a READ request takes one, because its responses are numbered apart (IRN 5.2).
func (w *wqe) psns() int {
	if w.fetches() {
		return 1
	}
	return w.packets
}

// takesReceive reports an operation that uses up a receive at the peer.
func (w *wqe) takesReceive() bool { return w.Op != engine.OpWrite && !w.fetches() }

// sendQueue holds the work requests that have not completed, oldest first. The first begun of them have PSNs.
type sendQueue struct {
	ring.Ring[wqe]
	begun   int
	pkt     int     // packets of the newest begun one that were sent
	reads   int     // READs and atomics among the begun ones
	recvSN  uint32  // recv_WQE_SN of the next request that takes a receive
	readSN  uint32  // read_WQE_SN of the next READ or atomic
	readPSN psn.PSN // rPSN of its first response
}

// mayBegin reports whether a request waits that may have its PSNs now: READs outstanding are limited by what the peer
// can serve, and by the span of rPSNs from the expected one on that can be told apart. What is behind one that has to wait
// does too, because requests go out in posting order (IBTA 9.4.4).
func (q *sendQueue) mayBegin(maxReads int, expected psn.PSN) bool {
	if q.begun == q.Len() {
		return false
	}
	w := q.At(q.begun)
	return !w.fetches() || q.reads < maxReads && q.readPSN.Sub(expected)+w.packets < psn.Half
}

// begin gives the next request its PSNs and its number.
func (q *sendQueue) begin(from psn.PSN) {
	w := q.At(q.begun)
	w.first, w.last = from, from.Add(w.psns()-1)
	switch {
	case w.fetches():
		w.sn, w.data = q.readSN, q.readPSN
		q.readSN = (q.readSN + 1) & psn.Mask
		q.readPSN = q.readPSN.Add(w.packets)
		q.reads++
	case w.takesReceive():
		w.sn = q.recvSN
		q.recvSN = (q.recvSN + 1) & psn.Mask
	}
	q.begun++
	q.pkt = 0
}

// finish removes the oldest request.
func (q *sendQueue) finish() {
	if q.At(0).fetches() {
		q.reads--
	}
	q.Drop()
	q.begun--
}

// owner returns the begun request that p belongs to; p was sent and is not acknowledged.
func (q *sendQueue) owner(p psn.PSN) *wqe {
	return q.At(sort.Search(q.begun-1, func(i int) bool { return p.LessEq(q.At(i).last) }))
}

// fetch returns the begun READ or atomic that response p belongs to, or nil.
func (q *sendQueue) fetch(p psn.PSN) *wqe {
	for i, left := 0, q.reads; left > 0; i++ {
		w := q.At(i)
		if !w.fetches() {
			continue
		}
		if p.In(w.data, w.data.Add(w.packets)) {
			return w
		}
		left--
	}
	return nil
}

// admit rejects a work request that is malformed or that the dialect has no packets for, and says how many packets of data
// a good one has.
func (w *Wire) admit(qp *engine.QP, wr *engine.WorkRequest) (packets int, err error) {
	packets = qp.Packets(wr.Len)
	switch {
	case wr.Op > engine.OpFetchAdd:
		return 0, fmt.Errorf("%s: work request %d: operation %d is not known", w.Name, wr.ID, wr.Op)
	case !w.of(requestOpcodes[wr.Op][2]).Known():
		return 0, fmt.Errorf("%s: work request %d: %s has no packet format here; use SEND, WRITE or READ", w.Name, wr.ID, wr.Op)
	case wr.Len > maxMessage:
		return 0, fmt.Errorf("%s: work request %d: %d bytes; a message has 2^31 at most", w.Name, wr.ID, wr.Len)
	case wr.Op > engine.OpRead && wr.Len != 8:
		return 0, fmt.Errorf("%s: work request %d: %s of %d bytes; an atomic has 8", w.Name, wr.ID, wr.Op, wr.Len)
	case wr.Op >= engine.OpRead && qp.MaxRdAtomic == 0:
		return 0, fmt.Errorf("%s: work request %d: %s needs MaxRdAtomic of 1 or more", w.Name, wr.ID, wr.Op)
	case packets >= psn.Half:
		return 0, fmt.Errorf("%s: work request %d: %d packets; raise the MTU or split it", w.Name, wr.ID, packets)
	}
	return packets, nil
}
