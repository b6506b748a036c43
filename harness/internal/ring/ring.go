// Package ring provides the queue of packets in flight, by pointer, for code that puts a trace in order.
package ring

// Ring is a queue of pointers in a circular buffer that grows by doubling and never shrinks, so that a queue of steady
// length allocates nothing. The zero Ring is empty.
type Ring[T any] struct {
	buf  []*T // its length is zero or a power of two
	head int
	n    int
}

// Len returns the number of pointers.
func (q *Ring[T]) Len() int { return q.n }

// First returns the front of the queue, nil when it is empty.
func (q *Ring[T]) First() *T {
	if q.n == 0 {
		return nil
	}
	return q.buf[q.head]
}

// Last returns the back of the queue, nil when it is empty.
func (q *Ring[T]) Last() *T {
	if q.n == 0 {
		return nil
	}
	return q.buf[(q.head+q.n-1)&(len(q.buf)-1)]
}

// At returns the i-th pointer from the front; i must be less than Len.
func (q *Ring[T]) At(i int) *T { return q.buf[(q.head+i)&(len(q.buf)-1)] }

// Drop removes the front, which must exist. It clears the slot, which would otherwise keep the packet alive.
func (q *Ring[T]) Drop() {
	q.buf[q.head] = nil
	q.head = (q.head + 1) & (len(q.buf) - 1)
	q.n--
}

// Push adds at the back.
func (q *Ring[T]) Push(s *T) {
	if q.n == len(q.buf) {
		q.grow()
	}
	q.buf[(q.head+q.n)&(len(q.buf)-1)] = s
	q.n++
}

// grow doubles the buffer and straightens the queue.
func (q *Ring[T]) grow() {
	bigger := make([]*T, max(64, 2*len(q.buf)))
	n := copy(bigger, q.buf[q.head:])
	copy(bigger[n:], q.buf[:q.head])
	q.buf, q.head = bigger, 0
}
