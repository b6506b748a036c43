package fasr

import "github.com/rdma-gauntlet/gauntlet/harness/psn"

// receiver is the receiving side of the scheme over one PSN space (FaSR III-B1): a responder has one for requests, a
// requester one for READ responses. It classifies packets and moves RCV-NXT, and does not access packet data.
//
//	normal    nothing is missing                      no unit
//	fast      lost-cnt 1: RCV-NXT alone is missing    a unit, no bitmap
//	slow      lost-cnt above 1, or overflow           a unit and bitmap blocks
//	fallback  the pool was exhausted                  the unit and blocks taken before
type receiver struct {
	nic    *nic
	role   role
	window int     // PSNs from RCV-NXT on that are accepted
	next   psn.PSN // RCV-NXT: the lowest PSN not accepted
	sr     *state  // nil outside recovery

	fallback bool    // go-back-N: out-of-order packets are dropped until RCV-NXT has passed high
	high     psn.PSN // highest PSN dropped since fallback began
	nakSent  bool    // a NAK of RCV-NXT was queued; cleared when RCV-NXT moves
}

// arrival is the class of a packet by its PSN.
type arrival uint8

const (
	inOrder  arrival = iota // RCV-NXT: the caller executes or places it, then calls fill
	recorded                // out of order and recorded: the caller stores it and answers with a SACK
	repeated                // a copy of sack-high: answered with the SACK again
	refused                 // between RCV-NXT and sack-high: dropped and answered with an FNACK
	old                     // before RCV-NXT: answered with an ACK
	fallen                  // out of order in fallback: dropped; the first is answered with a NAK
	beyond                  // outside the window, where a correct sender sends nothing: dropped
)

// arrive classifies a packet and records it if it is out of order. The receiver "detects packet loss by comparing
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
	// III-D). The list of blocks has no cheap access to its middle.
	return refused
}

// enter begins recovery: "In the normal state, lost-cnt will increase according to the interval between PSN and
// RCV-NXT".
func (r *receiver) enter(p psn.PSN, missing int) arrival {
	if r.sr = r.nic.acquire(r.role); r.sr == nil {
		return r.fall(p)
	}
	r.sr.sackHigh = p
	// RCV-NXT itself has no position in the bitmap; the other missing packets have.
	if !r.note(0, missing, missing-1) {
		r.leave()
		return r.fall(p)
	}
	return recorded
}

// extend records a new highest PSN: "In the loss recovery state, lost-cnt will increase according to the interval
// between PSN and sack-high". Without an interval only sack-high moves, and the bitmap when there is one.
func (r *receiver) extend(p psn.PSN, gap int) arrival {
	run := r.sr.sackHigh.Sub(r.next) // packets that have arrived after RCV-NXT if the fast path ends now
	if !r.note(run, gap, gap) {
		return r.fall(p)
	}
	r.sr.sackHigh = p
	return recorded
}

// note adds missing packets to lost-cnt, gap of which get positions in the bitmap; it reports false if the pool is
// exhausted.
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
// recovery is completed" (FaSR III-D). The paper does not define completion; here recovery is complete when RCV-NXT has
// passed all packets that arrived, dropped packets included.
func (r *receiver) fall(p psn.PSN) arrival {
	if !r.fallback {
		r.fallback, r.high = true, p
	}
	r.high = psn.Max(r.high, p)
	return fallen
}

// fill moves RCV-NXT past the packet that has just arrived in order, and past the recorded packets that follow it
// without a gap.
func (r *receiver) fill() {
	r.nakSent = false
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

// rewind moves RCV-NXT back to p, a stored packet that could not be placed, and discards the record of later packets.
func (r *receiver) rewind(p psn.PSN) {
	if r.sr != nil {
		r.leave()
	}
	r.next, r.fallback, r.nakSent = p, false, false
}
