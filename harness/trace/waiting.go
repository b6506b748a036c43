package trace

import (
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// slot is a sight that waits for its time: a copy of its record in memory that is used again and again.
type slot struct {
	at    vtime.Time
	index uint64
	out   bool
	rec   Record

	changed bool
	change  Change
	raw     [2][]byte // bytes of the record and of its change; the buffers stay with the slot
	payload [2][]byte // payloads that are not part of raw
}

// keep copies r. Bytes are copied only when there are some: most records of a large run have none.
func (s *slot) keep(r *Record) {
	s.rec = *r
	if r.Raw != nil || r.Packet.Payload != nil {
		s.rec.Raw, s.rec.Packet.Payload = s.hold(0, r.Raw, &r.Packet)
	}
	if s.changed = r.Changed != nil; !s.changed {
		return
	}
	s.change = *r.Changed
	s.change.Raw, s.change.Packet.Payload = s.hold(1, s.change.Raw, &s.change.Packet)
}

// restore points the record at the change in this slot.
func (s *slot) restore() {
	if s.changed {
		s.rec.Changed = &s.change
	}
}

// hold copies a frame and its payload into buffers i, keeping nil as nil. A payload that lies in the frame, as a
// decoder leaves it, is not copied twice.
func (s *slot) hold(i int, raw []byte, p *roce.Packet) (rawCopy, payload []byte) {
	if raw != nil {
		s.raw[i] = append(s.raw[i][:0], raw...)
		rawCopy = s.raw[i]
	}
	if p.Payload == nil {
		return rawCopy, nil
	}
	n := len(p.Payload)
	// Where the payload of a frame without Ethernet padding begins; the same address proves it.
	if off := len(raw) - icrcLen - int(p.Pad) - n; n > 0 && off >= 0 && &raw[off] == &p.Payload[0] {
		return rawCopy, rawCopy[off : off+n]
	}
	s.payload[i] = append(s.payload[i][:0], p.Payload...)
	return rawCopy, s.payload[i]
}

// before orders waiting sights: by time, arrivals before departures, then by position in the stream. Nil is last.
func (s *slot) before(o *slot) bool {
	switch {
	case s == nil:
		return false
	case o == nil:
		return true
	case s.at != o.at:
		return s.at < o.at
	case s.out != o.out:
		return o.out
	}
	return s.index < o.index
}

// ring is a queue of pointers in a circular buffer whose size is a power of two.
type ring[T any] struct {
	buf  []*T
	head int
	n    int
}

// first returns the front of the queue, nil when it is empty.
func (q *ring[T]) first() *T {
	if q.n == 0 {
		return nil
	}
	return q.buf[q.head]
}

// lastOne returns the back of the queue, nil when it is empty.
func (q *ring[T]) lastOne() *T {
	if q.n == 0 {
		return nil
	}
	return q.buf[(q.head+q.n-1)&(len(q.buf)-1)]
}

// at returns the i-th pointer from the front.
func (q *ring[T]) at(i int) *T { return q.buf[(q.head+i)&(len(q.buf)-1)] }

// drop removes the front. The place is cleared, or it would keep what it pointed to alive.
func (q *ring[T]) drop() {
	q.buf[q.head] = nil
	q.head = (q.head + 1) & (len(q.buf) - 1)
	q.n--
}

// push adds at the back.
func (q *ring[T]) push(s *T) {
	if q.n == len(q.buf) {
		q.grow()
	}
	q.buf[(q.head+q.n)&(len(q.buf)-1)] = s
	q.n++
}

// grow doubles the buffer and straightens the queue.
func (q *ring[T]) grow() {
	bigger := make([]*T, max(64, 2*len(q.buf)))
	n := copy(bigger, q.buf[q.head:])
	copy(bigger[n:], q.buf[:q.head])
	q.buf, q.head = bigger, 0
}

// waiting is a heap of slots, the earliest first.
type waiting []*slot

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (h waiting) Len() int           { return len(h) }
func (h waiting) Less(i, j int) bool { return h[i].before(h[j]) }
func (h waiting) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push implements heap.Interface.
func (h *waiting) Push(x any) { *h = append(*h, x.(*slot)) }

// Pop implements heap.Interface.
func (h *waiting) Pop() any {
	old := *h
	n := len(old) - 1
	s := old[n]
	*h = old[:n]
	return s
}
