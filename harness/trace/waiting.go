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

	changed  bool
	contents *contents // nil until a record has bytes or a change; stays with the slot
}

// contents is what few records of a large run have.
type contents struct {
	change  Change
	raw     [2][]byte // bytes of the record and of its change
	payload [2][]byte // payloads that are not part of raw
}

// own returns the contents of the slot.
func (s *slot) own() *contents {
	if s.contents == nil {
		s.contents = &contents{}
	}
	return s.contents
}

// keep copies r. Bytes are copied only when there are some: most records of a large run have none.
func (s *slot) keep(r *Record) {
	s.rec = *r
	if r.Raw != nil || r.Packet.Payload != nil {
		s.rec.Raw, s.rec.Packet.Payload = s.hold(0, r.Raw, &r.Packet)
	}
	if s.changed = false; r.Changed != nil {
		s.keepChange(r.Changed)
	}
}

// keepChange copies the form of the record at its receiver.
func (s *slot) keepChange(from *Change) {
	s.changed = true
	c := &s.own().change
	*c = *from
	c.Raw, c.Packet.Payload = s.hold(1, c.Raw, &c.Packet)
}

// restore points the record at the change in this slot.
func (s *slot) restore() {
	if s.changed {
		s.rec.Changed = &s.contents.change
	}
}

// hold copies a frame and its payload into buffers i, keeping nil as nil. A payload that lies in the frame, as a
// decoder leaves it, is not copied twice.
func (s *slot) hold(i int, raw []byte, p *roce.Packet) (rawCopy, payload []byte) {
	c := s.own()
	if raw != nil {
		c.raw[i] = append(c.raw[i][:0], raw...)
		rawCopy = c.raw[i]
	}
	if p.Payload == nil {
		return rawCopy, nil
	}
	n := len(p.Payload)
	// Where the payload of a frame without Ethernet padding begins; the same address proves it.
	if off := len(raw) - icrcLen - int(p.Pad) - n; n > 0 && off >= 0 && &raw[off] == &p.Payload[0] {
		return rawCopy, rawCopy[off : off+n]
	}
	c.payload[i] = append(c.payload[i][:0], p.Payload...)
	return rawCopy, c.payload[i]
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

// originalOf reports whether s is the arrival of a packet that r is a copy of, as far as the headers tell.
func (s *slot) originalOf(r *Record) bool {
	p, c := &s.rec.Packet, &r.Packet
	return !s.out && s.rec.From == r.From && s.rec.Conn == r.Conn && s.rec.Sum == r.Sum &&
		p.BTH == c.BTH && p.AETH == c.AETH && p.SACK == c.SACK && p.IP == c.IP
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
