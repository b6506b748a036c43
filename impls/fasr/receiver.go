package fasr

import "github.com/rdma-gauntlet/gauntlet/harness/psn"

// receiver is the receiving side of the scheme over one space of PSNs (FaSR III-B1): a responder has one for requests,
// a requester one for READ responses. It decides what a packet is and where RCV-NXT goes, and touches no data.
//
//	normal    nothing is missing                      no unit
//	fast      lost-cnt 1: RCV-NXT alone is missing    a unit, no bitmap
//	slow      lost-cnt above 1, or overflow           a unit and bitmap blocks
//	fallback  the pool was exhausted                  what was recorded before
type receiver struct {
	nic    *nic
	role   role
	window int
	next   psn.PSN // RCV-NXT
	sr     *state  // nil outside recovery

	// Fallback to go-back-N, until RCV-NXT has passed high: the highest PSN that was seen.
	fallback bool
	high     psn.PSN
	naked    bool // RCV-NXT was NAKed
}

// arrival is what a packet is to a receiver.
type arrival uint8

const (
	inOrder  arrival = iota // the one that RCV-NXT waits for: the caller takes it, then calls fill
	recorded                // out of order: the caller keeps it, and answers a SACK
	repeated                // the highest once more: a SACK again
	refused                 // behind a lost retransmission: dropped, and answered with an FNACK
	old                     // before RCV-NXT: an ACK again
	fallen                  // out of order in fallback: dropped; the first one is answered with a NAK
	beyond                  // farther ahead than a correct sender can be: dropped
)

// arrive classifies a packet and records it when it comes out of order. The receiver "detects packet loss by comparing
// the PSN to the RCV-NXT".
func (r *receiver) arrive(p psn.PSN) arrival {
	d := p.Sub(r.next)
	switch {
	case d == 0:
		return inOrder
	case d < 0:
		return old
	case d >= r.window:
		return beyond
	case r.fallback:
		return r.fall(p)
	case r.sr == nil:
		return r.enter(p, d)
	}
	switch gap := p.Sub(r.sr.sackHigh) - 1; {
	case gap >= 0:
		return r.extend(p, gap)
	case gap == -1:
		return repeated
	}
	// "If the receiver receives a packet with a PSN smaller than sack-high and larger than RCV-NXT, one retransmitted
	// packet is considered lost. This packet will be discarded, and the PSN value is carried back in FNACK" (FaSR
	// III-D). A list has no cheap way into its middle.
	return refused
}

// enter begins recovery: "In the normal state, lost-cnt will increase according to the interval between PSN and
// RCV-NXT".
func (r *receiver) enter(p psn.PSN, missing int) arrival {
	if r.sr = r.nic.acquire(r.role); r.sr == nil {
		return r.fall(p)
	}
	r.sr.sackHigh = p
	// RCV-NXT itself has no place in the bitmap; the others that are missing do.
	if !r.note(0, missing, missing-1) {
		r.leave()
		return r.fall(p)
	}
	return recorded
}

// extend follows a new highest PSN: "In the loss recovery state, lost-cnt will increase according to the interval
// between PSN and sack-high". Without an interval only sack-high moves, and the bitmap when there is one.
func (r *receiver) extend(p psn.PSN, gap int) arrival {
	run := r.sr.sackHigh.Sub(r.next) // what a fast path that ends now knows to have arrived
	if !r.note(run, gap, gap) {
		return r.fall(p)
	}
	r.sr.sackHigh = p
	return recorded
}

// note counts missing packets, of which gap get a place in the bitmap; false when the pool is exhausted.
func (r *receiver) note(run, missing, gap int) bool {
	was := *r.sr
	r.sr.count(missing)
	if r.sr.slow() && !r.place(run, gap) {
		r.sr.lost, r.sr.overflow = was.lost, was.overflow
		return false
	}
	return true
}

func (r *receiver) place(run, gap int) bool {
	b, p := &r.sr.arrived, r.nic.host.pool
	if b.on {
		return b.add(p, gap, 1)
	}
	return b.start(p, run, gap)
}

// fall drops a packet because the pool is exhausted: "When the bitmap is exhausted, FaSR automatically switches to GBN.
// After the QP returns to GBN, the recorded OoO will not be deleted, but QP will not be returned to SR until the loss
// recovery is completed" (FaSR III-D). It is complete when RCV-NXT has passed everything that was seen, a packet that
// was dropped included; the paper does not say.
func (r *receiver) fall(p psn.PSN) arrival {
	if !r.fallback {
		r.fallback, r.high = true, p
	}
	r.high = psn.Max(r.high, p)
	return fallen
}

// fill moves RCV-NXT past the packet that it waited for, and past everything behind it that arrived.
func (r *receiver) fill() {
	r.naked = false
	switch {
	case r.sr == nil:
		r.next = r.next.Next()
	case !r.sr.slow():
		// "The loss-recovery state is exited, and RCV-NXT is directly updated to sack-high + 1."
		r.next = r.sr.sackHigh.Next()
		r.leave()
	default:
		r.fillSlow()
	}
	if r.fallback && r.high.Less(r.next) {
		r.fallback = false
	}
}

// fillSlow: "After receiving a retransmission packet, the bitmap is still queried to obtain the updated value of
// RCV-NXT", and lost-cnt "will decrease after receiving the retransmitted data packet".
func (r *receiver) fillSlow() {
	p := r.nic.host.pool
	r.next = r.next.Add(1 + r.sr.arrived.run(p))
	if !r.sr.overflow {
		r.sr.lost--
	}
	if r.sr.sackHigh.Less(r.next) {
		r.leave()
		return
	}
	r.sr.settle(p)
}

// leave ends recovery.
func (r *receiver) leave() {
	r.sr = nil
	r.nic.release(r.role)
}

// rewind forgets everything behind p, which could not be taken: RCV-NXT waits for it again.
func (r *receiver) rewind(p psn.PSN) {
	if r.sr != nil {
		r.leave()
	}
	r.next, r.fallback, r.naked = p, false, false
}
