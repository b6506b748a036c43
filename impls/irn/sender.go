package irn

import "github.com/rdma-gauntlet/gauntlet/harness/psn"

// sender is the sending side of the scheme over one sequence space: a requester has one for requests (sPSN), a
// responder one for READ responses (rPSN). It decides what is sent and makes no packet.
//
// Every packet that arrives out of order draws a NACK, which says which packet the receiver expects and which one
// arrived. The first NACK or a timeout makes the sender retransmit the expected packet, and with it recovery begins:
// the lost packets are retransmitted one after the other, and when there are none left, new packets go on as BDP-FC
// allows (IRN 3.1). A packet is lost when it is not acknowledged and a later one is. Recovery ends when everything that
// had been sent by the last retransmission is acknowledged.
//
// Example, packets 0 to 9 in flight of which 2, 5 and 9 are lost:
//
//	NACK(2, sack 3)           una 2, lost 3: 2 is retransmitted, recovery begins, recoverSN 9
//	NACK(2, sack 4)           nothing below 4 is missing that was not sent again: new packets go on
//	NACK(2, sack 6)           lost 6: 5 is a hole and is retransmitted, recoverSN is the newest packet now
//	NACK(2, sack 7), (2, 8)   no hole behind 5; nothing above 9 is acknowledged, so 9 is not lost yet
//	ACK of 4                  una 5, which was retransmitted already
//	ACK of 8                  una 9: the NACKs of newer packets find it, or the timer
//
// The names in the comments of the fields are those of the authors' published logic, which settles what the paper
// leaves open.
type sender struct {
	cap  int     // BDP-FC: packets in flight at most
	next psn.PSN // nextSNtoSend: the next PSN never sent
	una  psn.PSN // lastAckedPsn: in the notation of the published logic the oldest PSN that is not acknowledged
	rto  rto

	sacked bitmap
	lost   psn.PSN // what is not in sacked and before it is lost: the highest PSN that a NACK named
	clean  psn.PSN // where the search for the next hole goes on: between retx and it there is none
	doubt  psn.PSN // what was sent before the last timeout, of which nothing need be known

	inRecovery   bool
	doRetransmit bool    // retx waits to be sent
	retx         psn.PSN // retransmitSN: the newest retransmission, sent or waiting
	recoverSN    psn.PSN // newest PSN sent when a retransmission last left

	collected int64 // retransmissions that NACKs and the bitmap told
}

func newSender(cfg *Config, first psn.PSN) sender {
	return sender{cap: cfg.Cap, next: first, una: first, rto: cfg.rto, sacked: newBitmap(cfg.Cap), lost: first,
		clean: first.Next(),
		doubt: first, retx: first, recoverSN: first.Prev()}
}

// busy reports whether anything is unacknowledged.
func (s *sender) busy() bool { return s.una != s.next }

// inFlight is how many packets are unacknowledged, those that a NACK named included.
func (s *sender) inFlight() int { return s.next.Sub(s.una) }

// room reports whether BDP-FC takes a new packet: fewer packets are in flight than the cap, the bandwidth-delay product
// of the longest path in packets (IRN 3.2).
func (s *sender) room() bool { return s.inFlight() < s.cap }

// holds reports whether p was sent and is not acknowledged.
func (s *sender) holds(p psn.PSN) bool { return p.In(s.una, s.next) }

// missing returns the first PSN from p on that no NACK has named.
func (s *sender) missing(p psn.PSN) psn.PSN { return s.sacked.nextClear(p, s.next) }

// sent notes that next has left, and returns its PSN.
func (s *sender) sent() psn.PSN {
	p := s.next
	s.next = p.Next()
	return p
}

// retransmit returns the packet that waits to be sent again; the caller sends it. Retransmissions do not ask for room:
// they are in flight already.
func (s *sender) retransmit() psn.PSN {
	p := s.retx
	s.inRecovery = s.inRecovery || p == s.una
	s.recoverSN = s.next.Prev()
	s.doRetransmit = false
	s.search()
	return p
}

// search looks for the next hole behind the newest retransmission: a packet that is not acknowledged, with one above it
// that is. Each is found once in a recovery, because the search never turns back; and it does not go again over what it
// has seen, or each NACK would cost a walk over the window.
func (s *sender) search() {
	if !s.clean.Less(s.lost) {
		return
	}
	if s.clean = s.sacked.nextClear(s.clean, s.lost); s.clean != s.lost {
		s.aim(s.clean)
		s.collected++
	}
}

// aim makes p the one to be sent again.
func (s *sender) aim(p psn.PSN) { s.retx, s.clean, s.doRetransmit = p, p.Next(), true }

// head makes the oldest packet the one to be sent again.
func (s *sender) head() { s.aim(s.una) }

// ack takes a cumulative acknowledgement of everything before cum and reports whether it was news.
func (s *sender) ack(cum psn.PSN) (news bool) {
	if news = s.advance(cum); !news {
		return false
	}
	if s.leave(); !s.inRecovery {
		s.doRetransmit = false // what a timeout or a NACK wanted has arrived
		return true
	}
	s.partial()
	return true
}

// nack takes a NACK: everything before cum arrived, cum is missing, and p arrived. It reports whether cum was news.
func (s *sender) nack(cum, p psn.PSN) (news bool) {
	news = s.advance(cum)
	s.mark(p)
	s.leave()
	switch {
	case !s.inRecovery && cum == s.una && s.busy():
		// The published logic waits for a second NACK when the first moves lastAckedPsn, which happens when an ACK was
		// lost. The paper does not, and without more packets there would be none.
		if !s.doRetransmit {
			s.collected++
		}
		s.head()
	case s.inRecovery && news:
		s.partial()
	}
	return news
}

// advance moves una to cum.
func (s *sender) advance(cum psn.PSN) bool {
	if n := cum.Sub(s.una); n <= 0 || n > s.inFlight() {
		return false
	}
	if s.una.Less(s.lost) { // otherwise no NACK has named any
		s.sacked.clearRange(s.una, cum)
	}
	s.una = cum
	s.lost, s.doubt, s.clean = psn.Max(s.lost, cum), psn.Max(s.doubt, cum), psn.Max(s.clean, cum)
	return true
}

// mark notes that p arrived, out of order. In recovery, a retransmission of p that still waits is cancelled, and the
// hole behind it is looked for; and when nothing waits and p is the highest, the holes below it are news.
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

// leave ends recovery when the cumulative acknowledgement passes the recovery sequence: the newest packet that had been
// sent when the last retransmission left (IRN 3.1).
func (s *sender) leave() {
	if s.inRecovery && s.recoverSN.Less(s.una) {
		s.inRecovery, s.doRetransmit = false, false
	}
}

// partial follows an acknowledgement that moves una and does not end recovery. When the new una is lost it is
// retransmitted, unless it has been already: "Any subsequent packet is considered lost only if another packet with a
// higher sequence number has been selectively acked" (IRN 3.1). After a timeout there may be no such packet, because
// all was lost, and what had been sent before it is taken for lost, too.
func (s *sender) partial() {
	known := s.una.Less(s.lost)
	switch {
	case (known || s.una.Less(s.doubt)) && (s.retx.Less(s.una) || s.retx == s.una && s.doRetransmit):
		s.head()
		if known {
			s.collected++
		}
	case s.retx.Less(s.una):
		s.doRetransmit = false // what waited has arrived
	}
}

// timeout sends the oldest packet again.
func (s *sender) timeout() {
	s.doubt = s.next
	s.head()
}

// restart sends everything again that no NACK has named: after an RNR wait, because what came behind the refused packet
// was dropped when it needed a receive too.
func (s *sender) restart() {
	s.lost = s.next
	s.head()
}
