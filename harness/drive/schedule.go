package drive

import "github.com/rdma-gauntlet/gauntlet/harness/vtime"

// schedule selects the QP that sends next, and the QP whose timer expires next. QPs with packets to send are served
// round robin, one packet per turn, plus an answer without data. Urgent retransmissions (engine.Urgent) of all QPs go
// first, and as many packets of the responders of those QPs between them, which a long series would hold up otherwise.
type schedule struct {
	qps     []qp
	ready   ring       // QPs that may have packets to send
	urgent  ring       // QPs with urgent retransmissions; they may be in ready as well
	onward  int        // QP whose turn continues, because it has sent only an answer; none if there is no such QP
	timers  deadlines  // wake-up times of the QPs
	soonest vtime.Time // lower bound of new wake-up times while wake runs, so that it ends; else 0
}

// none is no QP.
const none = -1

func (s *schedule) init(qps []qp) {
	s.qps, s.onward = qps, none
	s.ready.init(len(qps))
	s.urgent.init(len(qps))
	s.timers.init(len(qps))
}

// any reports whether a QP may have something to send.
func (s *schedule) any() bool { return s.ready.n+s.urgent.n > 0 }

// next returns the QP that sends next and removes it from its ring. If onward is true, its requester sends first: it
// has an urgent retransmission, or the turn of the QP continues, and it stays in its ring.
func (s *schedule) next() (i int, onward, ok bool) {
	if i, ok = s.urgent.next(); ok {
		q := &s.qps[i]
		q.rushed, q.pressed = false, !q.pressed
		return i, q.pressed, true
	}
	if i, s.onward = s.onward, none; i != none {
		return i, true, true
	}
	if i, ok = s.ready.next(); ok {
		s.qps[i].queued = false
	}
	return i, false, ok
}

// goOn continues the turn of QP i while others wait. Otherwise a QP that has an answer to send at every turn could
// never send its requests. (A device generates answers in its receive path, and shares the line among send queues.)
func (s *schedule) goOn(i int) {
	if s.ready.n > 1 {
		s.onward = i
	}
}

// enqueue appends a QP to the ring urgent or ready, unless it is there. A QP that has become urgent also keeps its
// place in ready; a turn without a packet to send is harmless.
func (s *schedule) enqueue(i int) {
	q := &s.qps[i]
	switch {
	case q.rushed:
	case q.urgent():
		q.rushed = true
		s.urgent.push(i)
	case !q.queued:
		q.queued = true
		s.ready.push(i)
	}
}

// arm records the wake-up time of QP i. A deadline that has moved to a later time keeps its place in the heap: waking a
// QP early is harmless, and cheaper than updating the heap on every acknowledgement.
func (s *schedule) arm(i int) {
	if at := s.qps[i].wake(); at != vtime.Never {
		s.timers.atMost(i, max(at, s.soonest))
	}
}

// settle corrects the first deadline of the heap if its QP now has a later one. It reports whether no correction was
// needed, because the first deadline is exact or not before planned.
func (s *schedule) settle(planned vtime.Time) bool {
	at := s.timers.first()
	if at >= planned {
		return true
	}
	i := int(s.timers.heap[0])
	real := max(s.qps[i].wake(), s.soonest)
	if real <= at {
		return true
	}
	s.timers.pop()
	if real != vtime.Never {
		s.timers.atMost(i, real)
	}
	return false
}

// ring is a FIFO of QPs that may have packets to send. Each QP is in it at most once, so n never exceeds the number of
// QPs.
type ring struct {
	at   []int32 // indices of QPs
	head int     // position of the first QP in at
	n    int     // number of QPs in the ring; 0 <= n <= len(at)
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

// next removes and returns the first QP.
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
