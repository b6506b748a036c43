package fasr

import (
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/rc"
)

// transmitRead makes the next READ response: one to be sent again before a new one.
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

// buildResponse makes a READ response: opcode by position, number and offset of the READ, data from memory as it is
// now. "SEND and WRITE header extensions can be applied to READ request and response packets" (FaSR IV-D). The last
// response of a READ asks for an answer, and every AckReqEvery-th.
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

// handleReadAnswer takes the requester's answer about READ responses.
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

// handleTimeout sends READ responses again, as a requester does with requests. When the retries are spent the responder
// falls silent: a requester that is alive asks again (revive), and one that is not, needs nothing.
func (r *Responder) handleTimeout() {
	if r.left == 0 || !r.out.busy() {
		return
	}
	r.left--
	r.timeouts++ // and no event: a Timeout event is the requester's
	r.out.again()
}

// revive follows a READ request that came again: the requester misses data.
func (r *Responder) revive() {
	if r.out.busy() && !r.timer.Running() {
		r.out.again()
	}
	r.left = r.qp.RetryCount
}
