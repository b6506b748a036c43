package irn

import (
	"encoding/binary"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/ring"
)

// READ responses are a stream of their own, with the same sender as requests: rPSNs, BDP-FC, holes and a timer. The
// responder is the source of the data, so it is the responder that has to learn what was lost (IRN 5.2).

// fetch is a READ or an atomic that is being answered: its responses have the rPSNs [data, data+packets).
type fetch struct {
	kind    kind
	data    psn.PSN
	packets int
	va      uint64
	length  uint32
	sn      uint32
	msn     psn.MSN
	result  uint64 // atomic: what it found
}

func (x *fetch) end() psn.PSN { return x.data.Add(x.packets) }

// fetches holds the READs and atomics whose responses are not all acknowledged, oldest first.
type fetches struct {
	ring.Ring[fetch]
	cur  int     // the one whose response goes next
	next psn.PSN // rPSN of the next one's first response
}

// room reports whether one more can be taken. When there are as many as were agreed the requester has the data of the
// oldest, or would not ask; unless its responses have not all been sent.
func (q *fetches) room(depth int, sent psn.PSN) bool {
	return q.Len() < depth || q.Len() > 0 && q.At(0).end().LessEq(sent)
}

// add gives one its rPSNs.
func (q *fetches) add(x fetch) {
	x.data = q.next
	q.Push(x)
	q.next = q.next.Add(x.packets)
}

// forget drops those whose responses are all before una.
func (q *fetches) forget(una psn.PSN) {
	for q.Len() > 0 && q.At(0).end().LessEq(una) {
		q.Drop()
		q.cur = max(0, q.cur-1)
	}
}

// owner returns the one that response p belongs to; p is not acknowledged.
func (q *fetches) owner(p psn.PSN) *fetch {
	i := 0
	for q.At(i).end().LessEq(p) {
		i++
	}
	return q.At(i)
}

// executeFetch accepts a READ, whose responses get the next rPSNs, or carries out an atomic and remembers what it found until
// the requester has it. Both happen in the order of read_WQE_SN (IRN 5.3), which is that of their PSNs.
func (r *Responder) executeFetch(p *roce.Packet, s shape) verdict {
	if v := r.checkFetch(p, s); v != fine {
		return v
	}
	if r.fetches.Len() == r.qp.MaxDestRd {
		r.out.ack(r.out.missing(r.fetches.At(0).end())) // only the READ_(N)ACKs are lost
		r.fetches.forget(r.out.una)
	}
	x := fetch{kind: s.kind, packets: 1, va: p.RETH.VA, length: p.RETH.DMALen, sn: r.readSN, msn: r.msn.Next()}
	if s.kind == kindRead {
		x.packets = r.qp.Packets(x.length)
	} else if x.result = r.load(x.va); !r.apply(p, x.result) {
		return localFault
	}
	r.readSN = (r.readSN + 1) & psn.Mask
	r.fetches.add(x)
	return fine
}

// load returns eight bytes of memory in host order, which is little-endian here. Virtual memory reads as zero.
func (r *Responder) load(va uint64) uint64 {
	if b := r.mem.Load(va, 8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// apply stores what an atomic makes of the old value (IBTA 9.4); false when it cannot be stored.
func (r *Responder) apply(p *roce.Packet, old uint64) bool {
	v := p.Atomic.SwapAdd
	switch {
	case r.wire.rc(p.Opcode) == roce.FetchAdd:
		v += old
	case old != p.Atomic.Compare:
		return true
	}
	binary.LittleEndian.PutUint64(r.word[:], v)
	return r.mem.Store(p.RETH.VA, r.word[:], len(r.word))
}

// transmitRead makes the next READ response: one to be sent again before a new one.
func (r *Responder) transmitRead(now vtime.Time, p *roce.Packet) bool {
	switch {
	case r.out.doRetransmit:
		at := r.out.retransmit()
		r.buildResponse(p, r.fetches.owner(at), at)
		if at == r.out.una {
			r.out.rto.restart(now)
		}
	case r.fetches.cur < r.fetches.Len() && r.out.room():
		x := r.fetches.At(r.fetches.cur)
		r.buildResponse(p, x, r.out.sent())
		if x.end().LessEq(r.out.next) {
			r.fetches.cur++
		}
	default:
		return false
	}
	r.out.rto.start(now)
	return true
}

// buildResponse makes a READ response: opcode by position, number and offset of the READ, data from memory as it is now.
func (r *Responder) buildResponse(p *roce.Packet, x *fetch, at psn.PSN) {
	i := at.Sub(x.data)
	*p = roce.Packet{
		BTH:  roce.BTH{AckReq: true, PKey: r.qp.PKey, DestQP: r.qp.DestQPN, PSN: at},
		AETH: roce.AETH{Syndrome: roce.SyndromeACK, MSN: x.msn},
		SO:   roce.SOETH{SN: x.sn},
	}
	if x.kind == kindAtomic {
		p.Opcode, p.Result = r.wire.of(roce.AtomicAck), x.result
		return
	}
	off := i * r.qp.MTU
	p.Opcode = r.wire.of(position(i == 0, i == x.packets-1, &readOpcodes))
	p.SO.Offset = uint32(off)
	p.Len = min(r.qp.MTU, int(x.length)-off)
	p.Pad = pad(p.Len)
	if p.Len > 0 {
		p.Payload = r.mem.Load(x.va+uint64(off), p.Len)
	}
}

// handleReadAck takes a READ_(N)ACK: PSN is expected, and when another one is named beside it that one arrived.
func (r *Responder) handleReadAck(now vtime.Time, p *roce.Packet) {
	var news bool
	switch s := p.AETH.Syndrome; {
	case s.IsACK() && p.PSN.Prev().In(r.out.una, r.out.next):
		news = r.out.ack(p.PSN)
	case s == roce.SyndromePSNSeqErr && r.out.holds(p.SACK.PSN) && p.PSN.LessEq(p.SACK.PSN):
		news = r.out.nack(p.PSN, p.SACK.PSN)
	default:
		r.ignored++
	}
	if !news {
		return
	}
	r.left = r.qp.RetryCount
	r.fetches.forget(r.out.una)
	if r.out.busy() {
		r.out.rto.restart(now)
	} else {
		r.out.rto.stop()
	}
}

// handleTimeout sends the oldest READ response again, as a requester does with requests: IRN's responder has a timer of its
// own (IRN 5.2). When the retries are spent it falls silent: a requester that is alive asks again (revive), and one that is
// not, needs nothing.
func (r *Responder) handleTimeout() {
	if r.left == 0 || !r.out.busy() {
		return
	}
	r.left--
	r.timeouts++ // and no event: a Timeout event is the requester's
	r.out.timeout()
}

// revive follows a READ request that came again: the requester misses data.
func (r *Responder) revive() {
	if r.out.busy() && !r.out.rto.running {
		r.out.timeout()
	}
	r.left = r.qp.RetryCount
}
