package metrics

import "github.com/rdma-gauntlet/gauntlet/harness/vtime"

// message is a request of one or more packets, from its first transmission on.
type message struct {
	first vtime.Time
	last  int64 // offset of its last PSN; open until that has been sent
}

// read is an outstanding READ or atomic, whose responses take the offsets [next, end).
type read struct {
	next int64
	end  int64 // open until the length in packets is known
}

const open = int64(-1)

// queue is a ring that grows with the number of outstanding items.
type queue[T any] struct {
	items   []T // a power of two of them, or none
	head, n int32
}

// queueLimit bounds a queue, far above any queue depth; beyond it the oldest is forgotten.
const queueLimit = 1 << 20

// front returns the oldest item; nil when there is none. It is valid until the next push.
func (q *queue[T]) front() *T {
	if q.n == 0 {
		return nil
	}
	return &q.items[q.head]
}

// back returns the newest item; nil when there is none.
func (q *queue[T]) back() *T {
	if q.n == 0 {
		return nil
	}
	return &q.items[(q.head+q.n-1)&int32(len(q.items)-1)]
}

func (q *queue[T]) pop() {
	q.head = (q.head + 1) & int32(len(q.items)-1)
	q.n--
}

func (q *queue[T]) push(x T) {
	if q.n == queueLimit {
		q.pop()
	}
	if int(q.n) == len(q.items) {
		items := make([]T, max(2, 2*len(q.items)))
		for i := range q.n {
			items[i] = q.items[(q.head+i)&int32(len(q.items)-1)]
		}
		q.items, q.head = items, 0
	}
	q.items[(q.head+q.n)&int32(len(q.items)-1)] = x
	q.n++
}
