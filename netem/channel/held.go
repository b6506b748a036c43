package channel

import "github.com/rdma-gauntlet/gauntlet/harness/vtime"

// MaxHeld bounds the packets that wait for successors at one time; one more is not held back.
const MaxHeld = 64

// patience is how long a held packet waits, beyond its own arrival, for successors that may never come: ten one-way
// delays, so that a retransmission after a few RTTs still counts as a successor, and 1 ms at least.
func patience(delay vtime.Duration) vtime.Duration { return max(10*delay, vtime.Millisecond) }

// Release says when a held packet arrives.
type Release struct {
	Ticket uint64
	Arrive vtime.Time
}

// held is the packets that a reorder fault keeps back, oldest first.
type held struct {
	waiting [MaxHeld]wait
	n       int              // with nready, MaxHeld at most: a release always finds room
	ready   [MaxHeld]Release // ring of releases that the driver has not fetched
	head    int
	nready  int
	tickets uint64
	early   uint64
}

type wait struct {
	ticket   uint64
	behind   int        // successors still to pass
	arrive   vtime.Time // not before its own arrival, nor before that of a successor that passed
	deadline vtime.Time
}

// hold keeps the packet of v back behind n successors, if there is room.
func (c *Channel) hold(v *Verdict, n int) bool {
	h := &c.held
	if h.n+h.nready == MaxHeld {
		h.early++
		return false
	}
	h.tickets++
	h.waiting[h.n] = wait{h.tickets, n, v.Arrive, v.Arrive.Add(patience(c.link.Delay))}
	h.n++
	c.counts.Reordered++
	v.Fate, v.Ticket, v.Arrive = Held, h.tickets, vtime.Never
	return true
}

// Release returns the next held packet that may go. Drivers drain it after every Offer and at NextRelease; releases due
// by time alone are found then. Of events at the same time, the driver keeps the order in which it learnt of them, so
// the packet arrives just behind its last successor.
func (c *Channel) Release(now vtime.Time) (Release, bool) {
	c.now = max(c.now, now)
	h := &c.held
	for i := 0; i < h.n; {
		if h.waiting[i].deadline > c.now {
			i++
			continue
		}
		h.early++
		h.release(i, c.now)
	}
	if h.nready == 0 {
		return Release{}, false
	}
	r := h.ready[h.head]
	h.head = (h.head + 1) % MaxHeld
	h.nready--
	return r, true
}

// NextRelease returns when Release must be called at the latest, if no packet is offered before; Never when nothing
// is held.
func (c *Channel) NextRelease() vtime.Time {
	if c.held.nready > 0 {
		return c.now
	}
	t := vtime.Never
	for _, w := range c.held.waiting[:c.held.n] {
		t = min(t, w.deadline)
	}
	return t
}

// pass counts a successor that arrives at t.
func (h *held) pass(now, t vtime.Time) {
	for i := 0; i < h.n; {
		w := &h.waiting[i]
		w.arrive = max(w.arrive, t)
		if w.behind--; w.behind > 0 {
			i++
			continue
		}
		if w.arrive > w.deadline {
			h.early++
		}
		h.release(i, max(now, min(w.arrive, w.deadline)))
	}
}

// release moves the i-th waiting packet to those that may go.
func (h *held) release(i int, t vtime.Time) {
	h.ready[(h.head+h.nready)%MaxHeld] = Release{h.waiting[i].ticket, t}
	h.nready++
	copy(h.waiting[i:h.n], h.waiting[i+1:h.n])
	h.n--
}
