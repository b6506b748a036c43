package fasr

import (
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/ring"
)

// fetch is a READ that is being answered: its responses have the PSNs [data, data+packets).
type fetch struct {
	data    psn.PSN
	packets int
	va      uint64
	length  uint32
	sn      uint32
}

func (x *fetch) end() psn.PSN { return x.data.Add(x.packets) }

// sent reports whether all its responses are before next, the PSN of the first that was never sent.
func (x *fetch) sent(next psn.PSN) bool { return x.end().LessEq(next) }

// reads holds the READs whose responses are not all acknowledged, oldest first.
type reads struct {
	ring.Ring[fetch]
	cur  int     // the one whose response goes next
	next psn.PSN // PSN of the next READ's first response
	seq  uint32  // number that the next READ must bear
}

func (q *reads) add(p *roce.Packet, packets int) {
	q.Push(fetch{data: q.next, packets: packets, va: p.RETH.VA, length: p.RETH.DMALen, sn: q.seq})
	q.next = q.next.Add(packets)
	q.seq = (q.seq + 1) & psn.Mask
}

// forget drops the READs whose responses are all before una.
func (q *reads) forget(una psn.PSN) {
	for q.Len() > 0 && q.At(0).end().LessEq(una) {
		q.Drop()
		q.cur = max(0, q.cur-1)
	}
}

// owner returns the READ that response p belongs to.
func (q *reads) owner(p psn.PSN) *fetch {
	i := 0
	for q.At(i).end().LessEq(p) {
		i++
	}
	return q.At(i)
}

func (q *reads) clear() {
	q.Clear()
	q.cur = 0
}

// transmitRead makes the next READ response: one to be sent again before a new one.
func (r *Responder) transmitRead(p *roce.Packet) bool {
	switch {
	case r.out.retx.Len() > 0:
		at := r.out.retx.next()
		r.buildResponse(p, r.reads.owner(at), at)
	case r.reads.cur < r.reads.Len() && r.out.room():
		x := r.reads.At(r.reads.cur)
		r.buildResponse(p, x, r.out.next)
		if r.out.next = r.out.next.Next(); x.sent(r.out.next) {
			r.reads.cur++
		}
	default:
		return false
	}
	return true
}

// buildResponse makes a READ response: opcode by position, number and offset of the READ, data from memory as it is now.
// "SEND and WRITE header extensions can be applied to READ request and response packets" (FaSR IV-D). The last response
// of a READ asks for an answer, and every AckReqEvery-th.
func (r *Responder) buildResponse(p *roce.Packet, x *fetch, at psn.PSN) {
	i := at.Sub(x.data)
	first, last := i == 0, i == x.packets-1
	off := i * r.qp.MTU
	*p = roce.Packet{
		BTH: roce.BTH{Opcode: position(first, last, &readOpcodes), PKey: r.qp.PKey, DestQP: r.qp.DestQPN, PSN: at},
		SO:  roce.SOETH{SN: x.sn, Offset: uint32(off)},
		Len: min(r.qp.MTU, int(x.length)-off),
	}
	every, half := r.qp.AckReqEvery, max(1, r.out.window/2)
	p.AckReq = last || every > 0 && (i+1)%every == 0 || (i+1)%half == 0
	p.Pad = pad(p.Len)
	if p.Len > 0 {
		p.Payload = r.mem.Load(x.va+uint64(off), p.Len)
	}
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
		r.reads.forget(r.out.unack)
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
