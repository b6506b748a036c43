package fasr

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/ring"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/timer"
)

// answer is the acknowledgement that a receiver sends for one arrival.
type answer struct {
	op       roce.Opcode // Acknowledge, or one of the SACK kinds
	syndrome roce.Syndrome
	psn      psn.PSN // ACK: newest PSN acknowledged; RNR NAK and refusal: PSN of the request; else RCV-NXT
	sack     psn.PSN // SACK: PSN that arrived; FNACK: PSN that was dropped
	lost     uint8   // lost-cnt of the receiver; SACK and FNACK only
	msn      psn.MSN // requests completed when the answer was queued
}

// answers is the queue of acknowledgements to be sent, in order of arrival. SACKs are not merged: the sender infers
// losses from the gaps between them. ACKs are cumulative, so a newer ACK replaces one that still waits at the end.
type answers struct {
	queue ring.Ring[answer]
	limit int // maximum length of queue: the window

	// State of a coalesced ACK (AckCoalesce).
	asked int         // in-order packets to be acknowledged since the last ACK
	timer timer.Timer // runs from the first of them; its period is ack_delay
}

// push queues an answer. If the queue already holds limit answers, the oldest is dropped, as the network might drop it,
// so that no input makes the queue grow beyond one window.
func (a *answers) push(x answer) {
	if n := a.queue.Len(); n > 0 && isACK(&x) && isACK(a.queue.At(n-1)) {
		*a.queue.At(n - 1) = x
		return
	}
	if a.queue.Len() >= a.limit {
		a.queue.Drop()
	}
	a.queue.Push(x)
}

func isACK(a *answer) bool { return a.op == roce.Acknowledge && a.syndrome == roce.SyndromeACK }

// ack acknowledges a packet in order: at once if it is the coalesce-th since the last ACK, else after ack_delay at the
// latest.
func (a *answers) ack(now vtime.Time, r *receiver, msn psn.MSN, coalesce int) {
	if a.asked++; a.asked >= coalesce || a.timer.Period == 0 {
		a.ackNow(r, msn)
		return
	}
	a.timer.Start(now)
}

// ackNow queues an ACK of all PSNs before RCV-NXT.
func (a *answers) ackNow(r *receiver, msn psn.MSN) {
	a.asked = 0
	a.timer.Stop()
	a.push(answer{op: roce.Acknowledge, syndrome: roce.SyndromeACK, psn: r.next.Prev(), msn: msn})
}

// sack answers a packet out of order: "lost-cnt will be piggy-backed in SACK packet (extended header) and returned to
// the sender" (FaSR III-B1); "the lost-cnt overflow flag is marked using the unused op-type value" (IV-D).
func (a *answers) sack(r *receiver, p psn.PSN, msn psn.MSN) {
	op := roce.FaSRSack
	if r.sr.overflow {
		op = roce.FaSRSackOverflow
	}
	a.selective(op, r, p, uint8(r.sr.lost), msn)
}

// fnack answers packet p, which shows that a retransmission was lost.
func (a *answers) fnack(r *receiver, p psn.PSN, msn psn.MSN) {
	a.selective(roce.FNACK, r, p, uint8(r.sr.lost), msn)
}

func (a *answers) selective(op roce.Opcode, r *receiver, p psn.PSN, lost uint8, msn psn.MSN) {
	a.push(answer{op: op, syndrome: roce.SyndromePSNSeqErr, psn: r.next, sack: p, lost: lost, msn: msn})
}

// nak answers a packet dropped in fallback, once per RCV-NXT.
func (a *answers) nak(r *receiver, msn psn.MSN) {
	if !r.nakSent {
		r.nakSent = true
		a.push(answer{op: roce.Acknowledge, syndrome: roce.SyndromePSNSeqErr, psn: r.next, msn: msn})
	}
}

// respond answers an arrival that is not in order.
func (a *answers) respond(r *receiver, what arrival, p psn.PSN, msn psn.MSN) {
	switch what {
	case recorded, repeated:
		a.sack(r, p, msn)
	case refused:
		a.fnack(r, p, msn)
	case old:
		a.ackNow(r, msn)
	case fallen:
		a.nak(r, msn)
	}
}

// clear drops all answers.
func (a *answers) clear() {
	a.queue.Clear()
	a.asked = 0
	a.timer.Stop()
}

// packet returns the packet of an answer to a request.
func (x *answer) packet(qp *engine.QP) roce.Packet {
	return roce.Packet{
		BTH:  roce.BTH{Opcode: x.op, PKey: qp.PKey, DestQP: qp.DestQPN, PSN: x.psn},
		AETH: roce.AETH{Syndrome: x.syndrome, MSN: x.msn},
		SACK: roce.SACKETH{PSN: x.sack, LostCnt: x.lost},
	}
}

// readPacket returns the packet of an answer to a READ response. READ responses have their own PSN space, so the packet
// must be distinct from an answer to a request: all kinds of answer have one opcode and carry the expected PSN. The
// kind is in the syndrome: ACK, sequence NAK, or, for a SACK or FNACK, a NAK whose code is the low five bits of the
// opcode of the same answer to a request.
func (x *answer) readPacket(qp *engine.QP) roce.Packet {
	p := x.packet(qp)
	p.Opcode = roce.FaSRReadAck
	switch {
	case x.op != roce.Acknowledge:
		p.AETH.Syndrome = nakClass | roce.Syndrome(x.op)&codeMask
		return p
	case isACK(x):
		p.PSN = x.psn.Next()
	}
	p.SACK.PSN = p.PSN // an answer that names no packet repeats the expected PSN
	return p
}

// The two parts of a syndrome (IBTA 9.3.5).
const (
	nakClass roce.Syndrome = 0x60
	codeMask roce.Syndrome = 0x1F
)

// readAnswer is the inverse of readPacket; ok is false if p is not a valid answer to a READ response.
func readAnswer(p *roce.Packet) (x answer, ok bool) {
	x = answer{op: roce.Acknowledge, syndrome: p.AETH.Syndrome, psn: p.PSN, sack: p.SACK.PSN, lost: p.SACK.LostCnt}
	if s := p.AETH.Syndrome; s.IsNAK() && s != roce.SyndromePSNSeqErr {
		x.op = roce.FSendFirst | roce.Opcode(s&codeMask)
		x.syndrome = roce.SyndromePSNSeqErr
	}
	switch {
	case x.op == roce.Acknowledge && x.syndrome.IsACK():
		x.psn, ok = p.PSN.Prev(), true
	case x.op == roce.Acknowledge:
		ok = x.syndrome == roce.SyndromePSNSeqErr
	default:
		ok = x.op == roce.FaSRSack || x.op == roce.FaSRSackOverflow || x.op == roce.FNACK
	}
	return x, ok
}

// take processes an answer, and reports whether it moved UNACK and whether it queued retransmissions.
func (s *sender) take(x *answer) (news, again bool) {
	before := s.unack
	switch x.op {
	case roce.FaSRSack, roce.FaSRSackOverflow:
		again = s.sack(x.psn, x.sack, int(x.lost), x.op == roce.FaSRSackOverflow)
	case roce.FNACK:
		again = s.early(x.psn)
	default:
		if x.syndrome.IsACK() {
			s.ack(x.psn.Next())
		} else {
			again = s.refused(x.psn)
		}
	}
	return s.unack != before, again
}
