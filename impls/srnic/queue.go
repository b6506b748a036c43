package srnic

import (
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// queue holds the packets that wait for the pipeline, oldest first, in a ring of slots that keep the memory of their
// payloads. It grows by doubling and never shrinks.
type queue struct {
	slots []parcel // their number is zero or a power of two
	head  int
	n     int
}

// parcel is a packet that waits, with a copy of its payload.
type parcel struct {
	pkt    roce.Packet
	bytes  []byte
	to     *half
	queued vtime.Duration // pipeline.queued when the packet arrived
}

// at returns the i-th parcel from the oldest.
func (q *queue) at(i int) *parcel { return &q.slots[(q.head+i)&(len(q.slots)-1)] }

// push copies a packet to the end.
func (q *queue) push(p *roce.Packet, to *half, queued vtime.Duration) {
	if q.n == len(q.slots) {
		bigger := make([]parcel, max(8, 2*q.n))
		for i := range q.n {
			bigger[i] = *q.at(i)
		}
		q.slots, q.head = bigger, 0
	}
	x := q.at(q.n)
	q.n++
	x.pkt, x.to, x.queued = *p, to, queued
	if p.Payload != nil {
		x.bytes = append(x.bytes[:0], p.Payload...)
		x.pkt.Payload = x.bytes
	}
}

// drop removes the oldest parcel.
func (q *queue) drop() {
	q.head = (q.head + 1) & (len(q.slots) - 1)
	q.n--
}
