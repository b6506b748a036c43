package fasr

import (
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/rc"
)

// transmitRead fills p with the next READ response: a retransmission, or else a new response.
func (r *Responder) transmitRead(p *roce.Packet) bool {
	if r.out.retx.Len() > 0 {
		at := r.out.retx.next()
		r.buildResponse(p, r.reads.Owner(at), at)
		return true
	}
	x := r.reads.Next(r.out.next)
	if x == nil || !r.out.room() {
		return false
	}
	r.buildResponse(p, x, r.out.next)
	r.out.next = r.out.next.Next()
	return true
}

// buildResponse fills p with the READ response that has PSN at: the opcode follows from the position, the number is
// that of the READ, and the data is the current content of memory. "SEND and WRITE header extensions can be applied to
// READ request and response packets" (FaSR IV-D). AckReq is set in the last response of a READ, in every
// AckReqEvery-th, and once per half window.
func (r *Responder) buildResponse(p *roce.Packet, x *rc.Fetch, at psn.PSN) {
	i := at.Sub(x.Data)
	first, last := i == 0, i == x.Packets-1
	off := i * r.qp.MTU
	*p = roce.Packet{
		BTH: roce.BTH{Opcode: f(rc.ReadOpcode(first, last)), PKey: r.qp.PKey, DestQP: r.qp.DestQPN, PSN: at},
		SO:  roce.SOETH{SN: x.SN, Offset: uint32(off)},
	}
	every, half := r.qp.AckReqEvery, max(1, r.out.window/2)
	p.AckReq = last || every > 0 && (i+1)%every == 0 || (i+1)%half == 0
	rc.LoadPayload(p, r.mem, x.VA+uint64(off), int(x.Length)-off, r.qp.MTU)
	p.Pad = rc.Pad(p.Len)
}

// handleReadAnswer processes the requester's answer to a READ response.
func (r *Responder) handleReadAnswer(now vtime.Time, p *roce.Packet) {
	x, ok := readAnswer(p)
	if !ok || !r.out.holds(x.psn) {
		r.ignored++
		return
	}
	news, again := r.out.take(&x)
	if news {
		r.left = r.qp.RetryCount
		r.reads.Forget(r.out.unack)
		if r.out.busy() {
			r.timer.Restart(now)
		} else {
			r.timer.Stop()
		}
	}
	if again {
		r.timer.Stop()
	}
}

// handleTimeout retransmits READ responses, as a requester retransmits requests. When its retries are spent the
// responder stops retransmitting until the requester repeats the READ request (revive).
func (r *Responder) handleTimeout() {
	if r.left == 0 || !r.out.busy() {
		return
	}
	r.left--
	r.timeouts++ // no Timeout event: those report the requester's timer
	r.out.again()
}

// revive is called for a duplicate READ request, by which the requester asks for missing data. It reloads the retries,
// and retransmits if the timer is off.
func (r *Responder) revive() {
	if r.out.busy() && !r.timer.Running() {
		r.out.again()
	}
	r.left = r.qp.RetryCount
}
