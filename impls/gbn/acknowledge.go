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
// With AckCoalesce above 1 the ACK becomes due at the AckCoalesce-th packet with AckReq. The requester may stop before
// that packet, because its queue is full or its last request is sent, and only the responder's clock can tell that no
// more packets come. The ACK therefore becomes due at the latest ack_delay after the first unanswered AckReq, so that
// the connection never stalls.
type pendingACK struct {
	psn   psn.PSN     // newest PSN that the ACK acknowledges; executed, so psn < epsn
	msn   psn.MSN     // requests completed when psn was executed
	asked int         // packets with AckReq executed since the last ACK
	due   bool        // the ACK may be sent
	timer timer.Timer // runs from the first unanswered AckReq; its period is ack_delay
}

// request records that the packet psn, now executed, asks for an ACK. An ACK with this PSN or a later one follows,
// possibly delayed (RC-ACK-001), and no ACK names a PSN that has not been executed (RC-ACK-002).
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

// clear cancels the ACK.
func (a *pendingACK) clear() {
	a.asked, a.due = 0, false
	a.timer.Stop()
}

// impliedBy cancels the ACK when a response with the later PSN has been sent: that response acknowledges the same
// packets, and an ACK sent after it would name an earlier PSN.
func (a *pendingACK) impliedBy(later psn.PSN) {
	if a.psn.Less(later) {
		a.clear()
	}
}

// pendingNAK is the one NAK that waits to be sent.
type pendingNAK struct {
	psn      psn.PSN       // epsn
	syndrome roce.Syndrome // the NAK code, or RNR with its timer
	queued   bool          // the NAK waits to be sent
}

// queueNAK queues a NAK of epsn. A NAK acknowledges all PSNs before its own, so an ACK that is not yet due is
// cancelled.
func (r *Responder) queueNAK(s roce.Syndrome) {
	r.nak = pendingNAK{psn: r.epsn, syndrome: s, queued: true}
	if !r.ack.due {
		r.ack.clear()
	}
}

// sendACK fills p with the ACK that is due.
func (r *Responder) sendACK(p *roce.Packet) {
	*p = r.response(roce.Acknowledge, r.ack.psn, r.ack.msn)
	r.ack.clear()
}

// sendNAK fills p with the queued NAK. After a fatal NAK the QP sends nothing more (IBTA 10.3.1).
func (r *Responder) sendNAK(p *roce.Packet) {
	*p = r.response(roce.Acknowledge, r.nak.psn, r.msn)
	p.AETH.Syndrome = r.nak.syndrome
	r.nak.queued = false
}

// response returns the headers that all responses share. The MSN counts the requests completed up to the one that is
// answered, and never decreases on the wire (IBTA 9.7.7).
func (r *Responder) response(op roce.Opcode, psn psn.PSN, msn psn.MSN) roce.Packet {
	if r.sentMSN.Less(msn) {
		r.sentMSN = msn
	}
	return roce.Packet{
		BTH:  roce.BTH{Opcode: op, PKey: r.qp.PKey, DestQP: r.qp.DestQPN, PSN: psn},
		AETH: roce.AETH{Syndrome: roce.SyndromeACK, MSN: r.sentMSN},
	}
}
