package fasr

// ring is a queue in a circular buffer that grows by doubling and never shrinks, so that a queue of steady length
// allocates nothing. The zero ring is empty.
type ring[T any] struct {
	buf  []T // its length is zero or a power of two
	head int
	n    int
}

// at returns the i-th element from the oldest; i must be less than n. The pointer is valid until the next push.
func (q *ring[T]) at(i int) *T { return &q.buf[(q.head+i)&(len(q.buf)-1)] }

// push appends an element.
func (q *ring[T]) push(v T) {
	if q.n == len(q.buf) {
		q.grow()
	}
	q.n++
	*q.at(q.n - 1) = v
}

// pop removes the oldest element and returns it; ok is false when there is none.
func (q *ring[T]) pop() (v T, ok bool) {
	if q.n == 0 {
		return v, false
	}
	v = *q.at(0)
	q.drop()
	return v, true
}

// drop removes the oldest element; there must be one.
func (q *ring[T]) drop() {
	q.head = (q.head + 1) & (len(q.buf) - 1)
	q.n--
}

func (q *ring[T]) grow() {
	bigger := make([]T, max(8, 2*len(q.buf)))
	for i := range q.n {
		bigger[i] = *q.at(i)
	}
	q.buf, q.head = bigger, 0
}
