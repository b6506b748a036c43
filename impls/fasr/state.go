package fasr

import "github.com/rdma-gauntlet/gauntlet/harness/psn"

// maxLost is the largest value of the three bits of lost-cnt.
const maxLost = 1<<lostCntBits - 1

// state is the recovery state of one role of a QP, in the SR state unit.
type state struct {
	sackHigh psn.PSN // highest PSN known to have arrived
	lost     int     // lost-cnt: packets missing below sack-high; lost <= maxLost
	overflow bool    // more than maxLost packets were missing; stays set until recovery ends
	arrived  bitmap  // packets that arrived between the oldest missing packet and sack-high; slow path only
}

// slow reports whether the role is on the slow path: "If lost-cnt is greater than 1, slow path is selected" (FaSR
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
