package fasr

import "github.com/rdma-gauntlet/gauntlet/harness/psn"

// maxLost is what the three bits of lost-cnt hold.
const maxLost = 1<<lostCntBits - 1

// state is what a place of a QP in recovery keeps in its SR state unit.
type state struct {
	sackHigh psn.PSN // highest PSN that arrived
	lost     int     // lost-cnt: packets below sack-high that are missing
	overflow bool    // more were missing than lost-cnt holds
	arrived  bitmap
}

// slow reports whether the place is on the slow path: "If lost-cnt is greater than 1, slow path is selected" (FaSR
// III-B1). After an overflow it stays there, because "the RCV-NXT value must be updated through bitmap queries"
// (III-D).
func (s *state) slow() bool { return s.lost > 1 || s.overflow }

// count adds missing packets to lost-cnt. "Once the receiver's lost-cnt overflows, it remains unchanged until the
// packet loss recovery is completed" (FaSR III-D).
func (s *state) count(missing int) {
	if s.overflow {
		return
	}
	if s.lost += missing; s.lost > maxLost {
		s.lost, s.overflow = maxLost, true
	}
}

// settle returns to the fast path when one packet is missing: "Once lost-cnt decreases to 1 again, FaSR switches from
// the slow path to the fast path, and the bitmap is disabled" (FaSR III-B1).
func (s *state) settle(p *pool) {
	if !s.slow() && s.arrived.on {
		s.arrived.release(p)
	}
}
