package drive

import "github.com/rdma-gauntlet/gauntlet/harness/vtime"

// schedule is which QP is next: to send, and to be woken. QPs with something to send are served one packet each in
// turn, and an answer without data beside it; those with a retransmission that their scheme puts first before the
// others.
type schedule struct {
	qps     []qp
	ready   ring // QPs with something to send
	urgent  ring // QPs with something to send again first; they may be in ready as well
	onward  int  // QP whose turn goes on, because all that it has sent is an answer; none when there is none
	timers  deadlines
	soonest vtime.Time // while QPs are being woken: the next time at which a timer may fire
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

// next takes the QP whose turn it is out of its ring. Onward says that its turn goes on; it stays in its ring then.
func (s *schedule) next() (i int, onward, ok bool) {
	if i, ok = s.urgent.next(); ok {
		s.qps[i].rushed = false
		return i, false, true
	}
	if i, s.onward = s.onward, none; i != none {
		return i, true, true
	}
	if i, ok = s.ready.next(); ok {
		s.qps[i].queued = false
	}
	return i, false, ok
}

// goOn lets the turn of QP i go on while others wait: answers that are asked for as fast as turns come would else keep
// its requests from leaving. A device makes answers where it receives, and shares its line among send queues.
func (s *schedule) goOn(i int) {
	if s.ready.n > 1 {
		s.onward = i
	}
}

// enqueue puts a QP at the end of its ring, unless it is there. One that has become urgent keeps its turn among the
// ready as well; nothing is lost when it has nothing left by then.
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

// arm notes when QP i wants to be woken. A deadline that moved away is left where it is in the heap: waking early is
// harmless and cheaper than sifting the heap on every acknowledgement.
func (s *schedule) arm(i int) {
	if at := s.qps[i].wake(); at != vtime.Never {
		s.timers.atMost(i, max(at, s.soonest))
	}
}

// settle brings the earliest deadline up to date, unless something else comes first at planned, and reports whether it
// was.
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
