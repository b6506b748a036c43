package drive

// ring is the QPs that may have something to send, in the order in which they are served. Each is in it at most once,
// so it never holds more than there are QPs.
type ring struct {
	at   []int32
	head int
	n    int
}

func (r *ring) init(qps int) { r.at = make([]int32, qps) }

// push adds QP i at the end; it must not be in the ring.
func (r *ring) push(i int) {
	tail := r.head + r.n
	if tail >= len(r.at) {
		tail -= len(r.at)
	}
	r.at[tail] = int32(i)
	r.n++
}

// next removes the QP whose turn it is.
func (r *ring) next() (int, bool) {
	if r.n == 0 {
		return 0, false
	}
	i := r.at[r.head]
	if r.head++; r.head == len(r.at) {
		r.head = 0
	}
	r.n--
	return int(i), true
}
