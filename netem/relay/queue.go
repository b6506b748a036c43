package relay

import "github.com/rdma-gauntlet/gauntlet/harness/vtime"

// departure is a frame and its departure time.
type departure struct {
	due   vtime.Time
	seq   uint64 // order of entry into the queue; breaks ties
	frame []byte
}

// before reports whether d departs before e. The order is total, so departures with equal times keep their order of
// entry.
func (d *departure) before(e *departure) bool {
	return d.due < e.due || d.due == e.due && d.seq < e.seq
}

// queue orders departures by time, then by entry. Departures that enter in time order, nearly all, are in a ring; the
// others are in a heap.
type queue struct {
	ring    []departure // sorted by before, from head on
	head, n int         // first entry of the ring, and number of its entries
	heap    []departure // binary heap, ordered by before
	seq     uint64      // seq of the next departure
}

// push adds a frame.
func (q *queue) push(due vtime.Time, frame []byte) {
	d := departure{due: due, seq: q.seq, frame: frame}
	q.seq++
	if q.n > 0 && due < q.ring[(q.head+q.n-1)%len(q.ring)].due {
		q.raise(d)
		return
	}
	if q.n == len(q.ring) {
		q.grow()
	}
	q.ring[(q.head+q.n)%len(q.ring)] = d
	q.n++
}

// grow doubles the ring. The memory of the store bounds the number of frames, and thus the ring.
func (q *queue) grow() {
	bigger := make([]departure, max(64, 2*len(q.ring)))
	for i := range q.n {
		bigger[i] = q.ring[(q.head+i)%len(q.ring)]
	}
	q.ring, q.head = bigger, 0
}

// next returns the departure time of the first frame; Never if the queue is empty.
func (q *queue) next() vtime.Time {
	if d := q.first(); d != nil {
		return d.due
	}
	return vtime.Never
}

// first returns the first departure of ring and heap, or nil if the queue is empty.
func (q *queue) first() *departure {
	switch {
	case len(q.heap) == 0 && q.n == 0:
		return nil
	case len(q.heap) == 0 || q.n > 0 && q.ring[q.head].before(&q.heap[0]):
		return &q.ring[q.head]
	}
	return &q.heap[0]
}

// pop removes the first frame if it is due by now.
func (q *queue) pop(now vtime.Time) (departure, bool) {
	d := q.first()
	if d == nil || d.due > now {
		return departure{}, false
	}
	out := *d
	if len(q.heap) > 0 && d == &q.heap[0] {
		q.lower()
		return out, true
	}
	d.frame = nil // the buffer has a new owner
	q.head = (q.head + 1) % len(q.ring)
	q.n--
	return out, true
}

// len returns the number of frames in the queue.
func (q *queue) len() int { return q.n + len(q.heap) }

// raise adds d to the heap.
func (q *queue) raise(d departure) {
	q.heap = append(q.heap, d)
	for i := len(q.heap) - 1; i > 0; {
		parent := (i - 1) / 2
		if !q.heap[i].before(&q.heap[parent]) {
			return
		}
		q.heap[i], q.heap[parent] = q.heap[parent], q.heap[i]
		i = parent
	}
}

// lower removes the top of the heap.
func (q *queue) lower() {
	last := len(q.heap) - 1
	q.heap[0] = q.heap[last]
	q.heap[last].frame = nil
	q.heap = q.heap[:last]
	for i := 0; ; {
		least := i
		for c := 2*i + 1; c <= 2*i+2 && c < last; c++ {
			if q.heap[c].before(&q.heap[least]) {
				least = c
			}
		}
		if least == i {
			return
		}
		q.heap[i], q.heap[least] = q.heap[least], q.heap[i]
		i = least
	}
}
