package fasr

import "github.com/rdma-gauntlet/gauntlet/harness/psn"

// sender is the sending side of the scheme over one PSN space (FaSR III-B2): a requester has one for requests, a
// responder one for READ responses. It decides which PSNs are retransmitted and builds no packets.
//
// "The sender does not locally update its lost-cnt. Rather, it relies on the lost-cnt transmitted by the receiver": a
// gap between two SACKs is a loss of data when lost-cnt has increased, else a loss of SACKs.
type sender struct {
	nic    *nic
	role   role
	cfg    *config
	window int     // maximum number of packets in flight
	unack  psn.PSN // UNACK: oldest PSN not acknowledged; unack <= next and next-unack <= window
	next   psn.PSN // lowest PSN never sent
	sr     *state  // nil outside recovery
	fnack  bool    // the next FNACK is acted on; set by every move of UNACK
	retx   retx    // PSNs to be retransmitted

	fallback bool    // go-back-N: SACKs are ignored until UNACK has passed high
	high     psn.PSN // newest PSN sent when fallback began
	nak      psn.PSN // PSN of the last NAK acted on
	blind    bool    // in recovery without a bitmap, because the pool had no block: timeouts go back N
}

// busy reports whether anything is unacknowledged.
func (s *sender) busy() bool { return s.unack != s.next }

// room reports whether the window takes one more new packet.
func (s *sender) room() bool { return s.next.Sub(s.unack) < s.window }

// holds reports whether p was sent and is not acknowledged.
func (s *sender) holds(p psn.PSN) bool {
	d := p.Sub(s.unack)
	return d >= 0 && d < s.next.Sub(s.unack)
}

// ack acknowledges all PSNs before upTo and reports whether UNACK moved: "The ACK received from the receiver
// already includes the most recent UNACK value. So, if the bitmap is already in use, it's updated in parallel."
func (s *sender) ack(upTo psn.PSN) bool {
	n := upTo.Sub(s.unack)
	if n <= 0 || n > s.next.Sub(s.unack) {
		return false
	}
	s.unack = upTo
	s.fnack = true
	s.retx.forget(upTo)
	s.fallback = s.fallback && upTo.LessEq(s.high)
	switch {
	case s.sr == nil:
	case s.sr.sackHigh.Less(upTo):
		s.leave()
	default:
		s.pass(n)
	}
	return true
}

// pass removes n positions from the bitmap after UNACK has moved by n, to another missing packet.
func (s *sender) pass(n int) {
	p := s.nic.host.pool
	filled := 1 // the old UNACK
	if s.sr.arrived.on {
		filled += s.sr.arrived.skip(p, n-1)
		s.sr.arrived.skip(p, 1)
	}
	// Not in the paper: with lostcnt_credit the sender subtracts from lost-cnt the holes that the ACK shows to be
	// filled, so that a filled hole does not hide a new one between two SACKs.
	if s.cfg.credit && !s.sr.overflow {
		s.sr.lost = max(1, s.sr.lost-filled)
		s.sr.settle(p)
	}
}

// sack processes a SACK: all PSNs before cum arrived, cum is missing, p arrived, and lost is the receiver's lost-cnt.
// It reports whether it queued retransmissions.
func (s *sender) sack(cum, p psn.PSN, lost int, overflow bool) (again bool) {
	s.ack(cum)
	if cum != s.unack || !s.holds(p) || p == s.unack || s.fallback {
		return false
	}
	if s.sr == nil {
		return s.enter(p, lost, overflow)
	}
	gap := p.Sub(s.sr.sackHigh) - 1
	if gap < 0 {
		return false // overtaken by a later SACK, or a copy
	}
	// "During the loss recovery state, the sender will retransmit the packet between SACK and sack-high only when there
	// is a discontinuity between the received SACK and sack-high and the lost-cnt returned by the receiver increases."
	// After an overflow "the sender no longer needs lost-cnt to increase to trigger retransmission" (III-D).
	again = gap > 0 && (lost > s.sr.lost || overflow)
	if again {
		s.retx.add(s.sr.sackHigh.Next(), p)
	}
	s.follow(p, gap, lost, overflow, again)
	return again
}

// enter begins recovery: "Upon receiving the SACK, the sender will enter the loss recovery state and immediately
// retransmit the packet between the unacknowledged PSN (UNACK) and the SACK, regardless of the value of lost-cnt."
//
// If an earlier SACK was lost, this retransmits packets that have arrived. Not in the paper: with lc1_exact and a
// lost-cnt of one, which shows that UNACK alone is missing, only UNACK is retransmitted.
func (s *sender) enter(p psn.PSN, lost int, overflow bool) bool {
	if s.sr = s.nic.acquire(s.role); s.sr == nil {
		s.goBack()
		return true
	}
	s.blind = false
	s.sr.sackHigh = s.unack
	end := p
	if s.cfg.lc1Exact && lost == 1 && !overflow {
		end = s.unack.Next()
	}
	s.retx.Clear()
	s.retx.add(s.unack, end)
	s.follow(p, p.Sub(s.unack)-1, lost, overflow, true)
	return true
}

// follow updates the state from a SACK: sack-high, lost-cnt, and on the slow path the bitmap. The gap packets between
// sack-high and p are missing if missing is true; else they arrived and only their SACKs were lost.
func (s *sender) follow(p psn.PSN, gap, lost int, overflow, missing bool) {
	run := s.sr.sackHigh.Sub(s.unack)
	s.sr.sackHigh, s.sr.lost, s.sr.overflow = p, lost, s.sr.overflow || overflow
	s.sr.settle(s.nic.host.pool)
	if !s.sr.slow() || s.blind {
		return
	}
	if !missing {
		run, gap = run+gap, 0
	}
	if !s.place(run, gap, p) {
		s.sr.arrived.release(s.nic.host.pool)
		s.blind = true
	}
}

// place records in the bitmap that p arrived after gap missing packets; run is the number of packets between UNACK and
// the gap. It reports false if the pool has too few blocks.
func (s *sender) place(run, gap int, p psn.PSN) bool {
	b, pool := &s.sr.arrived, s.nic.host.pool
	if !b.on {
		return b.start(pool, run, gap)
	}
	// Packets that the bitmap does not cover yet, apart from the gap and p, arrived and only their SACKs were lost.
	return b.add(pool, 0, run-b.length()) && b.add(pool, gap, 1)
}

// again queues the PSNs that a timeout retransmits (FaSR III-B2): "If lost-cnt is greater than 1, the UNACK will be
// retransmitted immediately, and the bitmap will be consulted to identify any zeros between the UNACK and sack-high for
// retransmission. If lost-cnt equals 1, only the UNACK will be retransmitted without querying the bitmap. However, if
// lost-cnt is 0, it indicates that all packets within the entire window of the QP have been lost. In this case, the
// sender will resend starting from UNACK."
func (s *sender) again() {
	s.retx.Clear()
	switch {
	case s.sr == nil || s.sr.slow() && !s.sr.arrived.on:
		s.retx.add(s.unack, s.next)
	case !s.sr.slow():
		s.retx.add(s.unack, s.unack.Next())
	default:
		s.retx.add(s.unack, s.unack.Next())
		c := s.sr.arrived.cursor(s.nic.host.pool)
		for i, n := c.next(0, false), s.sr.arrived.length(); i < n; {
			end := c.next(i, true)
			s.retx.add(s.unack.Add(1+i), s.unack.Add(1+end))
			i = c.next(end, false)
		}
	}
}

// early processes an FNACK: it "notif[ies] the sender to trigger RTO in advance and start retransmission from RCV-NXT
// again. The sender only responds to an FNACK once before receiving a new ACK" (FaSR III-D).
func (s *sender) early(cum psn.PSN) (again bool) {
	s.ack(cum)
	if !s.fnack || !s.busy() || cum != s.unack {
		return false
	}
	s.fnack = false
	s.again()
	return true
}

// goBack retransmits the whole window, because the pool of one end is exhausted.
func (s *sender) goBack() {
	if s.sr != nil {
		s.leave()
	}
	s.fallback, s.high = true, s.next.Prev()
	s.retx.Clear()
	s.retx.add(s.unack, s.next)
}

// refused processes a NAK of cum, by which a receiver in fallback asks for all packets from cum on. A copy of that NAK
// does not restart the retransmission.
func (s *sender) refused(cum psn.PSN) (again bool) {
	s.ack(cum)
	if !s.busy() || cum != s.unack || s.fallback && s.nak == cum {
		return false
	}
	s.nak = cum
	s.goBack()
	return true
}

// cursor returns a cursor for missing.
func (s *sender) cursor() (c cursor) {
	if s.sr != nil {
		c = s.sr.arrived.cursor(s.nic.host.pool)
	}
	return c
}

// missing reports whether p, which is not acknowledged, is not known to have arrived. p may not precede the p of an
// earlier call with this cursor.
func (s *sender) missing(c *cursor, p psn.PSN) bool {
	switch d := p.Sub(s.unack); {
	case s.sr == nil || d == 0 || s.sr.sackHigh.Less(p):
		return true
	case s.sr.arrived.on:
		return d > s.sr.arrived.length() || !c.at(d-1)
	}
	return s.sr.slow()
}

// leave ends recovery.
func (s *sender) leave() {
	s.sr, s.blind = nil, false
	s.nic.release(s.role)
}

// restart discards the record of arrivals and retransmits the whole window.
func (s *sender) restart() {
	if s.sr != nil {
		s.leave()
	}
	s.fallback = false
	s.again()
}
