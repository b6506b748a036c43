package gbn

import (
	"encoding/binary"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// message is the SEND or WRITE that is arriving; kind is kindNone between messages.
type message struct {
	kind    kind
	va      uint64 // where the next byte goes
	left    uint32 // bytes that may still come: of the DMALen, or of the receive buffer
	got     uint32
	receive engine.ReceiveRequest // SEND: the receive being filled
}

// accept executes the packet whose PSN is expected. The order of the checks is that of soft-RoCE: opcode sequence,
// operation allowed, resources, length, key and bounds. It decides which error a packet with several gets, and that a
// packet for which no receive is posted may be checked again, later, as if it were new.
func (r *Responder) accept(now vtime.Time, p *roce.Packet, s *shape) {
	v := r.checkSequence(s)
	if v == fine {
		v = r.checkEnabled(s)
	}
	if v == fine && r.lacksReceive(s) {
		r.notReady(now)
		return
	}
	if v == fine {
		v = r.execute(now, p, s)
	}
	if v != fine {
		r.refuse(v)
	}
}

// notReady answers a packet for which no receive is posted. It is not executed and stays expected; what follows it is
// dropped in silence, since the requester will send it again after the wait (IBTA 9.7.5.2.8).
func (r *Responder) notReady(now vtime.Time) {
	r.gap = gap{answered: true, at: now}
	r.queueNAK(roce.SyndromeRNR | roce.Syndrome(r.qp.MinRNRTimer))
}

// refuse answers a request that must not be executed and moves the QP to the error state; the answer still goes out,
// after those to earlier requests.
func (r *Responder) refuse(v verdict) {
	r.state = refused
	r.queueNAK(v.syndrome)
	r.endMessage(v.status)
	r.events.Push(engine.Event{Kind: engine.Fatal, Status: v.status, PSN: r.epsn})
	r.flushReceives()
}

// execute carries out the packet and, when nothing is wrong, moves epsn past it.
func (r *Responder) execute(now vtime.Time, p *roce.Packet, s *shape) verdict {
	switch s.kind {
	case kindRead:
		return r.executeRead(p)
	case kindAtomic:
		return r.executeAtomic(p)
	}
	// A SEND takes its receive before the length is known to fit, so that a misfit completes that receive with the error.
	if s.first {
		r.open(p, s)
	}
	if v := r.checkLength(p, s); v != fine {
		return v
	}
	if s.first && s.kind == kindWrite && !r.permits(p, p.RETH.DMALen, engine.RemoteWrite) {
		return forbidden
	}
	if v := r.place(p); v != fine {
		return v
	}
	if s.last {
		if v := r.finish(p, s); v != fine {
			return v
		}
	}
	r.consume(1)
	if p.AckReq {
		r.ack.request(now, r.epsn.Prev(), r.msn, r.coalesce)
	}
	return fine
}

// open begins a message. A SEND takes the oldest receive.
func (r *Responder) open(p *roce.Packet, s *shape) {
	if s.kind == kindWrite {
		r.msg = message{kind: kindWrite, va: p.RETH.VA, left: p.RETH.DMALen}
		return
	}
	rr, _ := r.receives.Pop()
	r.msg = message{kind: kindSend, va: rr.VA, left: rr.Len, receive: rr}
}

// place stores the payload.
func (r *Responder) place(p *roce.Packet) verdict {
	m := &r.msg
	if p.Len > 0 && !r.mem.Store(m.va, p.Payload, p.Len) {
		return localFault
	}
	m.va += uint64(p.Len)
	m.left -= uint32(p.Len)
	m.got += uint32(p.Len)
	return fine
}

// finish ends the message with its last packet: it counts (C9-148), and it completes a receive when it has one.
func (r *Responder) finish(p *roce.Packet, s *shape) verdict {
	if s.op == engine.OpSendInv && !r.mem.Invalidate(p.InvKey) {
		return forbidden
	}
	r.msn = r.msn.Next()
	e := engine.Event{Kind: engine.ReceiveCQE, Op: s.op, ID: r.msg.receive.ID, Len: r.msg.got, PSN: p.PSN}
	if s.imm {
		e.Imm = p.Imm
	}
	switch s.op {
	case engine.OpSendInv:
		e.InvKey = p.InvKey
	case engine.OpWriteImm:
		rr, _ := r.receives.Pop()
		e.ID = rr.ID
	}
	r.msg = message{}
	if s.op != engine.OpWrite {
		r.events.Push(e)
	}
	return fine
}

// consume moves epsn on. The gap, if there was one, is closed, and the next draws a NAK again (GBN-NAK-003). A NAK that
// waits for the link has become wrong: it would make the requester repeat what has arrived.
func (r *Responder) consume(psns int) {
	r.epsn = r.epsn.Add(psns)
	r.accepted += uint64(psns)
	r.gap = gap{}
	r.nak.queued = false
}

// executeRead accepts a READ. It counts now (C9-148); its responses are made one by one when the link is free.
func (r *Responder) executeRead(p *roce.Packet) verdict {
	if v := r.checkRead(p); v != fine {
		return v
	}
	// All PSNs of the responses are used up at once, so that the next request has the one after them (IBTA 9.7.1).
	r.msn = r.msn.Next()
	n := r.qp.Packets(p.RETH.DMALen)
	r.replay.remember(resource{
		kind: kindRead, start: r.accepted, psns: n, reth: p.RETH,
		stream: stream{active: true, first: p.PSN, packets: n, va: p.RETH.VA, length: p.RETH.DMALen, msn: r.msn},
	}, r.qp.MaxDestRd)
	r.consume(n)
	return fine
}

// executeAtomic changes eight bytes and remembers what they were. Host order is little-endian. Virtual memory reads as
// zero.
func (r *Responder) executeAtomic(p *roce.Packet) verdict {
	if v := r.checkAtomic(p); v != fine {
		return v
	}
	var old uint64
	if b := r.mem.Load(p.RETH.VA, 8); b != nil {
		old = binary.LittleEndian.Uint64(b)
	}
	if v, store := applied(p, old); store {
		binary.LittleEndian.PutUint64(r.word[:], v)
		if !r.mem.Store(p.RETH.VA, r.word[:], len(r.word)) {
			return localFault
		}
	}
	r.msn = r.msn.Next()
	r.replay.remember(resource{
		kind: kindAtomic, op: p.Opcode, start: r.accepted, psns: 1, reth: p.RETH, result: old,
		stream: stream{active: true, first: p.PSN, packets: 1, msn: r.msn},
	}, r.qp.MaxDestRd)
	r.consume(1)
	return fine
}

// applied returns the value after the atomic, and whether it is written at all (IBTA 9.4).
func applied(p *roce.Packet, old uint64) (v uint64, store bool) {
	if p.Opcode == roce.FetchAdd {
		return old + p.Atomic.SwapAdd, true
	}
	return p.Atomic.SwapAdd, old == p.Atomic.Compare
}
