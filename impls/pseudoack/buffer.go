package pseudoack

import (
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// frames is a queue of frames with copies of their payloads. Slots and their payload memory are reused, so a queue that
// does not grow allocates nothing. The zero queue is empty.
type frames struct {
	slots []stored // its length is zero or a power of two
	head  int
	n     int
	bytes int // sum of the frames' sizes
}

// stored is one queued frame. The fields end, count and fetch are set for requests in the buffer of a flow.
type stored struct {
	frame  roce.Frame
	memory []byte // the copy of the payload; kept when the slot is free
	size   int
	end    psn.PSN // first PSN after this request
	count  int     // messages of the flow up to and including this request
	fetch  bool    // a READ or an atomic, which is answered with data
}

// at returns the i-th frame from the oldest.
func (q *frames) at(i int) *stored { return &q.slots[(q.head+i)&(len(q.slots)-1)] }

// push appends a copy of f and returns it.
func (q *frames) push(f *roce.Frame) *stored {
	if q.n == len(q.slots) {
		q.grow()
	}
	q.n++
	s := q.at(q.n - 1)
	s.frame, s.size = *f, f.Len()
	q.bytes += s.size
	if p := f.Packet.Payload; p != nil {
		s.memory = append(s.memory[:0], p...)
		s.frame.Packet.Payload = s.memory
	}
	return s
}

// drop removes the oldest frame. The contents of its slot stay valid until the slot is reused.
func (q *frames) drop() {
	q.bytes -= q.at(0).size
	q.head = (q.head + 1) & (len(q.slots) - 1)
	q.n--
}

// pop moves the oldest frame to f.
func (q *frames) pop(f *roce.Frame) bool {
	if q.n == 0 {
		return false
	}
	*f = q.at(0).frame
	q.drop()
	return true
}

// clear removes all frames.
func (q *frames) clear() { q.n, q.bytes = 0, 0 }

// grow doubles the queue. The payload memory of the frames moves with their slots.
func (q *frames) grow() {
	bigger := make([]stored, max(8, 2*len(q.slots)))
	for i := range q.n {
		bigger[i] = *q.at(i)
	}
	q.slots, q.head = bigger, 0
}
