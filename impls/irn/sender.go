package irn

import "github.com/rdma-gauntlet/gauntlet/harness/psn"

// sender is the sending side of the scheme over one PSN space: a requester has one for requests (sPSN), a responder one
// for READ responses (rPSN). It chooses the PSN to send and builds no packets.
//
// Every out-of-order packet draws a NACK, which carries the expected PSN and the PSN that arrived. The first NACK or a
// timeout makes the sender retransmit the expected packet, which begins recovery: the lost packets are retransmitted
// one after the other, and when none is left, new packets are sent as BDP-FC allows (IRN 3.1). A packet is lost if it
// is not acknowledged and a later one is. Recovery ends when all packets sent before the last retransmission are
// acknowledged.
//
// Example, packets 0 to 9 in flight of which 2, 5 and 9 are lost:
//
//	NACK(2, sack 3)           una 2, lost 3: 2 is retransmitted, recovery begins, recoverSN 9
//	NACK(2, sack 4)           all missing packets below 4 have been retransmitted: new packets are sent
//	NACK(2, sack 6)           lost 6: 5 is a hole and is retransmitted, recoverSN is the newest packet now
//	NACK(2, sack 7), (2, 8)   no hole behind 5; nothing above 9 is acknowledged, so 9 is not lost yet
//	ACK of 4                  una 5, which was retransmitted already
//	ACK of 8                  una 9: the NACKs of newer packets find it, or the timer
//
// The names in the comments of the fields are those of the authors' published logic, which settles questions that the
// paper leaves open.
//
// Invariant: una <= next and next-una <= cap; una <= lost, searched and timedOut.
type sender struct {
	cap  int     // BDP-FC: maximum number of packets in flight
	next psn.PSN // lowest PSN never sent: nextSNtoSend
	una  psn.PSN // oldest PSN not acknowledged: lastAckedPsn
	rto  rto

	sacked   bitmap  // PSNs of [una, next) that NACKs named as arrived
	lost     psn.PSN // highest PSN that a NACK named, or una; PSNs before it that are not in sacked are lost
	searched psn.PSN // the search for the next hole continues here; between retx and searched there is no hole
	timedOut psn.PSN // next at the last timeout; in recovery, PSNs before it count as lost without a SACK

	inRecovery   bool
	doRetransmit bool    // retx is to be sent next
	retx         psn.PSN // newest retransmission, sent or to be sent: retransmitSN
	recoverSN    psn.PSN // newest PSN sent at the time of the last retransmission; recovery ends when una passes it

	collected int64 // retransmissions decided on from NACKs and the bitmap
}

func newSender(cfg *Config, first psn.PSN) sender {
	return sender{cap: cfg.Cap, next: first, una: first, rto: cfg.rto, sacked: newBitmap(cfg.Cap), lost: first,
		searched: first.Next(),
		timedOut: first, retx: first, recoverSN: first.Prev()}
}

// busy reports whether anything is unacknowledged.
func (s *sender) busy() bool { return s.una != s.next }

// inFlight returns the number of packets not acknowledged cumulatively, including those that a NACK named.
func (s *sender) inFlight() int { return s.next.Sub(s.una) }

// room reports whether BDP-FC allows a new packet: fewer packets are in flight than the cap, the bandwidth-delay
// product of the longest path in packets (IRN 3.2).
func (s *sender) room() bool { return s.inFlight() < s.cap }

// holds reports whether p was sent and is not acknowledged.
func (s *sender) holds(p psn.PSN) bool { return p.In(s.una, s.next) }

// missing returns the first PSN from p on that no NACK has named.
func (s *sender) missing(p psn.PSN) psn.PSN { return s.sacked.nextClear(p, s.next) }

// sent returns next and advances it: the caller sends the packet with the returned PSN.
func (s *sender) sent() psn.PSN {
	p := s.next
	s.next = p.Next()
	return p
}

// retransmit returns the PSN to be retransmitted; the caller sends the packet. Retransmissions do not need room: their
// packets already count as in flight.
func (s *sender) retransmit() psn.PSN {
	p := s.retx
	s.inRecovery = s.inRecovery || p == s.una
	s.recoverSN = s.next.Prev()
	s.doRetransmit = false
	s.search()
	return p
}

// search looks for the next hole after the newest retransmission: a packet that is not acknowledged, while a later one
// is. The search never moves back, so that each hole is found once in a recovery, and a NACK does not cost a walk over
// the whole window.
func (s *sender) search() {
	if !s.searched.Less(s.lost) {
		return
	}
	if s.searched = s.sacked.nextClear(s.searched, s.lost); s.searched != s.lost {
		s.queue(s.searched)
		s.collected++
	}
}

// queue makes p the packet to be retransmitted next.
func (s *sender) queue(p psn.PSN) { s.retx, s.searched, s.doRetransmit = p, p.Next(), true }

// queueUna makes the oldest unacknowledged packet the one to be retransmitted next.
func (s *sender) queueUna() { s.queue(s.una) }

// ack processes a cumulative acknowledgement of all PSNs before cum, and reports whether it moved una.
func (s *sender) ack(cum psn.PSN) (news bool) {
	if news = s.advance(cum); !news {
		return false
	}
	if s.leave(); !s.inRecovery {
		s.doRetransmit = false // the packet queued by a timeout or a NACK has arrived
		return true
	}
	s.partial()
	return true
}

// nack processes a NACK: all PSNs before cum arrived, cum is missing, and p arrived. It reports whether it moved una.
func (s *sender) nack(cum, p psn.PSN) (news bool) {
	news = s.advance(cum)
	s.mark(p)
	s.leave()
	switch {
	case !s.inRecovery && cum == s.una && s.busy():
		// If the first NACK moves lastAckedPsn, because an ACK was lost, the published logic waits for a second NACK.
		// The paper does not, and without further packets there is no second NACK.
		if !s.doRetransmit {
			s.collected++
		}
		s.queueUna()
	case s.inRecovery && news:
		s.partial()
	}
	return news
}

// advance moves una to cum, and reports false if cum is not in (una, next].
func (s *sender) advance(cum psn.PSN) bool {
	if n := cum.Sub(s.una); n <= 0 || n > s.inFlight() {
		return false
	}
	if s.una.Less(s.lost) { // otherwise sacked is empty
		s.sacked.clearRange(s.una, cum)
	}
	s.una = cum
	s.lost, s.timedOut, s.searched = psn.Max(s.lost, cum), psn.Max(s.timedOut, cum), psn.Max(s.searched, cum)
	return true
}

// mark records that p arrived out of order. In recovery, if p is queued for retransmission, the retransmission is
// cancelled and the next hole is searched; if none is queued and p is the highest PSN named so far, there may be new
// holes below p.
func (s *sender) mark(p psn.PSN) {
	if !s.holds(p) || p == s.una {
		return
	}
	s.sacked.set(p)
	highest := s.lost.LessEq(p)
	s.lost = psn.Max(s.lost, p)
	if !s.inRecovery {
		return
	}
	if s.doRetransmit && s.retx == p {
		s.doRetransmit = false
		s.search()
	} else if !s.doRetransmit && highest {
		s.search()
	}
}

// leave ends recovery if una has passed the recovery sequence: the newest packet sent before the last retransmission
// (IRN 3.1).
func (s *sender) leave() {
	if s.inRecovery && s.recoverSN.Less(s.una) {
		s.inRecovery, s.doRetransmit = false, false
	}
}

// partial is called after an acknowledgement that moves una and does not end recovery. If the new una is lost, it is
// retransmitted unless it has been already: "Any subsequent packet is considered lost only if another packet with a
// higher sequence number has been selectively acked" (IRN 3.1). After a timeout there may be no such packet, because
// the whole window was lost, so packets sent before the timeout are taken for lost, too.
func (s *sender) partial() {
	known := s.una.Less(s.lost)
	switch {
	case (known || s.una.Less(s.timedOut)) && (s.retx.Less(s.una) || s.retx == s.una && s.doRetransmit):
		s.queueUna()
		if known {
			s.collected++
		}
	case s.retx.Less(s.una):
		s.doRetransmit = false // the queued packet has arrived
	}
}

// timeout queues the oldest unacknowledged packet for retransmission.
func (s *sender) timeout() {
	s.timedOut = s.next
	s.queueUna()
}

// restart queues all packets that no NACK has named for retransmission. It is used after an RNR NAK, because packets
// after the refused one were dropped if they needed a receive too.
func (s *sender) restart() {
	s.lost = s.next
	s.queueUna()
}
