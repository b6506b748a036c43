package gbn

import (
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/timer"
)

// pendingACK is the one ACK that waits to be sent. ACKs are cumulative, so a newer one replaces an older (IBTA
// 9.7.5.1).
//
// With AckCoalesce above 1 an ACK is due when so many packets have asked for one. The requester may stop before that,
// because its queue is full or it has nothing more to say; only the responder's clock can tell that the last packet in
// flight has come. Hence ack_delay after the first unanswered request the ACK is due in any case, and nothing stalls.
type pendingACK struct {
	psn   psn.PSN
	msn   psn.MSN
	asked int  // AckReq packets since the last ACK
	due   bool // it can go out
	timer timer.Timer
}

// request notes that the packet psn, now executed, asks for an ACK. However it is delayed, an ACK with a PSN not below
// this one will follow (RC-ACK-001), and none names a PSN that has not been executed (RC-ACK-002).
func (a *pendingACK) request(now vtime.Time, psn psn.PSN, msn psn.MSN, coalesce int) {
	a.psn, a.msn = psn, msn
	if a.asked++; a.asked >= coalesce || a.timer.Period == 0 {
		a.now(psn, msn)
		return
	}
	a.timer.Start(now)
}

// now makes an ACK due without waiting for more requests.
func (a *pendingACK) now(psn psn.PSN, msn psn.MSN) {
	a.psn, a.msn, a.due = psn, msn, true
	a.timer.Stop()
}

// clear forgets the ACK.
func (a *pendingACK) clear() {
	a.asked, a.due = 0, false
	a.timer.Stop()
}

// impliedBy forgets an ACK when a response to a later packet says the same; sent after it, the ACK would go backwards.
func (a *pendingACK) impliedBy(later psn.PSN) {
	if a.psn.Less(later) {
		a.clear()
	}
}

// pendingNAK is the one NAK that waits to be sent; it is always about epsn.
type pendingNAK struct {
	psn      psn.PSN
	syndrome roce.Syndrome
	queued   bool
}

// queueNAK queues a NAK of epsn. It acknowledges everything before, so an ACK that is not due becomes superfluous.
func (r *Responder) queueNAK(s roce.Syndrome) {
	r.nak = pendingNAK{psn: r.epsn, syndrome: s, queued: true}
	if !r.ack.due {
		r.ack.clear()
	}
}

// sendACK makes the ACK that is due.
func (r *Responder) sendACK(p *roce.Packet) {
	*p = r.response(roce.Acknowledge, r.ack.psn, r.ack.msn)
	r.ack.clear()
}

// sendNAK makes the NAK. After a fatal one nothing is left to send, and the QP is silent (IBTA 10.3.1).
func (r *Responder) sendNAK(p *roce.Packet) {
	*p = r.response(roce.Acknowledge, r.nak.psn, r.msn)
	p.AETH.Syndrome = r.nak.syndrome
	r.nak.queued = false
}

// response makes the part that all responses share. The MSN is the number of requests completed up to the one that is
// answered, and never goes backwards on the wire (IBTA 9.7.7).
func (r *Responder) response(op roce.Opcode, psn psn.PSN, msn psn.MSN) roce.Packet {
	if r.sentMSN.Less(msn) {
		r.sentMSN = msn
	}
	return roce.Packet{
		BTH:  roce.BTH{Opcode: op, PKey: r.qp.PKey, DestQP: r.qp.DestQPN, PSN: psn},
		AETH: roce.AETH{Syndrome: roce.SyndromeACK, MSN: r.sentMSN},
	}
}
