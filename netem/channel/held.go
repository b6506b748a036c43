package channel

import "github.com/rdma-gauntlet/gauntlet/harness/vtime"

// MaxHeld is the maximum number of packets held back at one time; a further packet is not held back.
const MaxHeld = 64

// patience returns the maximum time that a packet is held back after its own arrival time, since successors may never
// come: ten one-way delays, so that a retransmission after a few RTTs still counts as a successor, but at least 1 ms.
func patience(delay vtime.Duration) vtime.Duration { return max(10*delay, vtime.Millisecond) }

// Release is the arrival of a packet that was held back.
type Release struct {
	Ticket uint64     // Verdict.Ticket of the packet
	Arrive vtime.Time // time at which its last bit arrives
}

// held holds the packets that reorder faults hold back, oldest first.
type held struct {
	waiting [MaxHeld]wait
	n       int              // packets in waiting; n+nready <= MaxHeld, so that every release finds room
	ready   [MaxHeld]Release // ring of releases that the driver has not fetched
	head    int              // first entry of the ring
	nready  int              // entries in the ring
	tickets uint64           // last ticket given out
	early   uint64           // packets not held, or released before all their successors had passed
}

type wait struct {
	ticket   uint64
	behind   int        // successors that have not passed yet; > 0
	arrive   vtime.Time // latest of the packet's own arrival time and those of the successors that have passed
	deadline vtime.Time // time at which the packet is released in any case
}

// hold holds the packet of v back until n successors have passed, and reports false if there is no room.
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

// Release returns the next packet to be released. Drivers drain Release after every Offer and at NextRelease, when it
// also releases the packets whose deadline has passed. Of events at the same time, the driver keeps the order in which
// the channel reported them, so that a released packet arrives just after its last successor.
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

// NextRelease returns the time at which Release must be called if no packet is offered before; Never if no packet is
// held.
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

// pass counts a packet that arrives at t as a successor of every waiting packet.
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

// release moves the i-th waiting packet to the ring of releases, with arrival time t.
func (h *held) release(i int, t vtime.Time) {
	h.ready[(h.head+h.nready)%MaxHeld] = Release{h.waiting[i].ticket, t}
	h.nready++
	copy(h.waiting[i:h.n], h.waiting[i+1:h.n])
	h.n--
}
