package irn

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/ring"
)

// answer is the acknowledgement that a receiver sends for one arrival.
type answer struct {
	syndrome roce.Syndrome
	nack     bool    // the arrival was out of order: the answer is a NACK and carries sack
	psn      psn.PSN // expected PSN; in an RNR NAK or a refusal the PSN of the request
	sack     psn.PSN // PSN of the packet that arrived; only in a NACK
	msn      psn.MSN // requests completed when the answer was queued
}

// answers is the queue of acknowledgements to be sent, in order of arrival. NACKs are not merged, because each carries
// another SACK. An ACK that still waits for the link is replaced by a newer ACK, which acknowledges the same packets
// and more.
type answers struct {
	queue ring.Ring[answer]
	limit int // maximum length of queue: the BDP cap
}

// ack acknowledges all PSNs before expected.
func (a *answers) ack(expected psn.PSN, msn psn.MSN) {
	x := answer{syndrome: roce.SyndromeACK, psn: expected, msn: msn}
	if n := a.queue.Len(); n > 0 {
		if last := a.queue.At(n - 1); last.syndrome == roce.SyndromeACK && !last.nack {
			*last = x
			return
		}
	}
	a.push(x)
}

// nack answers the out-of-order packet p while expected is missing.
func (a *answers) nack(expected, p psn.PSN, msn psn.MSN) {
	a.push(answer{syndrome: roce.SyndromePSNSeqErr, nack: true, psn: expected, sack: p, msn: msn})
}

// nak answers the request with PSN p with an RNR NAK or a fatal NAK.
func (a *answers) nak(s roce.Syndrome, p psn.PSN, msn psn.MSN) {
	a.push(answer{syndrome: s, psn: p, msn: msn})
}

// push queues an answer. If the queue already holds limit answers, the oldest is dropped, as the network might drop it,
// so that no input makes the queue grow beyond one window.
func (a *answers) push(x answer) {
	if a.queue.Len() >= a.limit {
		a.queue.Drop()
	}
	a.queue.Push(x)
}

// packet returns the packet of an answer to a request: an ACK carries the newest PSN that it acknowledges, a NACK the
// expected PSN, and a NAK the PSN of the refused request (IBTA 9.7.5.1).
func (x *answer) packet(w *Wire, qp *engine.QP) roce.Packet {
	p := roce.Packet{
		BTH:  roce.BTH{Opcode: roce.Acknowledge, PKey: qp.PKey, DestQP: qp.DestQPN, PSN: x.psn},
		AETH: roce.AETH{Syndrome: x.syndrome, MSN: x.msn},
	}
	switch {
	case x.nack:
		p.Opcode, p.SACK.PSN = w.Nack, x.sack
	case x.syndrome == roce.SyndromeACK:
		p.PSN = x.psn.Prev()
	}
	return p
}

// readPacket returns the READ_(N)ACK of an answer to a READ response. It always carries the expected rPSN; without a
// SACK, its SACK field repeats the expected rPSN.
func (x *answer) readPacket(w *Wire, qp *engine.QP) roce.Packet {
	p := roce.Packet{
		BTH:  roce.BTH{Opcode: w.ReadAck, PKey: qp.PKey, DestQP: qp.DestQPN, PSN: x.psn},
		AETH: roce.AETH{Syndrome: x.syndrome},
		SACK: roce.SACKETH{PSN: x.psn},
	}
	if x.nack {
		p.SACK.PSN = x.sack
	}
	return p
}
