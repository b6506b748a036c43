package irn

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/ring"
)

// answer is what a receiver has to say about one arrival.
type answer struct {
	syndrome roce.Syndrome
	nack     bool    // out of order: it names sack
	psn      psn.PSN // the expected PSN; in an RNR NAK and a refusal the PSN of the request
	sack     psn.PSN
	msn      psn.MSN
}

// answers is what a receiver has to say, in order. NACKs are not merged, because each names another packet. An ACK that
// still waits for the link is replaced by a newer one, which says all that it said.
type answers struct {
	queue ring.Ring[answer]
	limit int
}

// ack acknowledges everything before expected.
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

// nack says that p arrived and expected is missing.
func (a *answers) nack(expected, p psn.PSN, msn psn.MSN) {
	a.push(answer{syndrome: roce.SyndromePSNSeqErr, nack: true, psn: expected, sack: p, msn: msn})
}

// nak refuses the request with PSN p, for now or for good.
func (a *answers) nak(s roce.Syndrome, p psn.PSN, msn psn.MSN) {
	a.push(answer{syndrome: s, psn: p, msn: msn})
}

// push queues an answer. Beyond a whole window the link is so far behind that the oldest answer is of no use; it is
// dropped, as the network would, and no input can make the queue grow further.
func (a *answers) push(x answer) {
	if a.queue.Len() >= a.limit {
		a.queue.Drop()
	}
	a.queue.Push(x)
}

// packet makes the packet of an answer about requests: an ACK names the newest packet that it acknowledges, all others
// the expected one or the one that they refuse (IBTA 9.7.5.1).
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

// readPacket makes the READ_(N)ACK of an answer about READ responses. It always names the expected rPSN; what has
// nothing to name beside it names it twice.
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
