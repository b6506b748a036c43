// Package ring is the queue of the engines: work requests, receives, events, acknowledgements that wait for the link.
package ring

// Ring is a queue in a circular buffer that grows by doubling and never shrinks, so that a queue of steady length
// allocates nothing. The zero Ring is empty.
type Ring[T any] struct {
	buf  []T // its length is zero or a power of two
	head int
	n    int
}

// Len returns the number of elements.
func (q *Ring[T]) Len() int { return q.n }

// At returns the i-th element from the oldest; i must be less than Len. The pointer is valid until the next Push.
func (q *Ring[T]) At(i int) *T { return &q.buf[(q.head+i)&(len(q.buf)-1)] }

// Push appends an element.
func (q *Ring[T]) Push(v T) {
	if q.n == len(q.buf) {
		q.grow()
	}
	q.n++
	*q.At(q.n - 1) = v
}

// PushFront puts an element before the oldest.
func (q *Ring[T]) PushFront(v T) {
	if q.n == len(q.buf) {
		q.grow()
	}
	q.head = (q.head - 1) & (len(q.buf) - 1)
	q.n++
	*q.At(0) = v
}

// Pop removes the oldest element and returns it; ok is false when there is none.
func (q *Ring[T]) Pop() (v T, ok bool) {
	if q.n == 0 {
		return v, false
	}
	v = *q.At(0)
	q.Drop()
	return v, true
}

// Drop removes the oldest element; there must be one.
func (q *Ring[T]) Drop() {
	q.head = (q.head + 1) & (len(q.buf) - 1)
	q.n--
}

// Clear removes all elements.
func (q *Ring[T]) Clear() { q.head, q.n = 0, 0 }

func (q *Ring[T]) grow() {
	bigger := make([]T, max(8, 2*len(q.buf)))
	for i := range q.n {
		bigger[i] = *q.At(i)
	}
	q.buf, q.head = bigger, 0
}
