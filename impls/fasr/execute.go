package fasr

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// message is the SEND or WRITE that is arriving; kind is kindNone between messages.
type message struct {
	kind    kind
	va      uint64 // where the next byte goes
	left    uint32 // bytes that may still come: of the DMALen, or of the receive buffer
	got     uint32
	receive engine.ReceiveRequest // SEND: the receive being filled
}

// accept executes the packet whose turn it is, and reports whether it did. The order of the checks is that of soft-RoCE:
// opcode sequence, operation allowed, resources, length, key and bounds.
func (r *Responder) accept(p *roce.Packet, s shape) bool {
	v := r.checkSequence(s)
	if v == fine {
		v = r.checkEnabled(s)
	}
	if v == fine && r.lacksReceive(s) {
		r.rnr(p.PSN)
		return false
	}
	if v == fine {
		v = r.execute(p, s)
	}
	if v != fine {
		r.reject(v, p.PSN)
	}
	return v == fine
}

// rnr answers a packet for which no receive is posted. It acknowledges what is before it, and the packet is tried again
// when it comes again (IBTA 9.7.5.2.8).
func (r *Responder) rnr(p psn.PSN) {
	r.notReady, r.waits = true, p
	r.say.asked = 0
	r.say.timer.Stop()
	r.answerNAK(roce.SyndromeRNR|roce.Syndrome(r.qp.MinRNRTimer), p)
}

func (r *Responder) answerNAK(s roce.Syndrome, p psn.PSN) {
	r.say.push(answer{op: roce.Acknowledge, syndrome: s, psn: p, msn: r.msn})
}

// reject answers a request that must not be executed and moves the QP to the error state; answers still go out.
func (r *Responder) reject(v verdict, p psn.PSN) {
	r.state = rejected
	r.say.timer.Stop()
	r.answerNAK(v.syndrome, p)
	r.endMessage(v.status)
	r.events.Push(engine.Event{Kind: engine.Fatal, Status: v.status, PSN: p})
	r.flushReceives()
}

// execute carries out the packet.
func (r *Responder) execute(p *roce.Packet, s shape) verdict {
	switch {
	case p.Opcode == roce.ReadRequest || s.kind == kindAtomic:
		return r.checkForeign(p)
	case s.kind == kindRead:
		return r.executeRead(p)
	}
	// A SEND takes its receive before the length is known to fit, so that a misfit completes that receive with the error.
	if s.first {
		r.open(p, s)
	}
	if v := r.checkPlace(p); v != fine {
		return v
	}
	if v := r.checkLength(p, s); v != fine {
		return v
	}
	if s.first && s.kind == kindWrite && !r.permits(p, engine.RemoteWrite) {
		return forbidden
	}
	if v := r.place(p); v != fine {
		return v
	}
	if s.last {
		r.finish(p, s)
	}
	return fine
}

// open begins a message. A SEND takes the oldest receive.
func (r *Responder) open(p *roce.Packet, s shape) {
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

// finish ends the message with its last packet: it counts, and it completes a receive when it has one.
func (r *Responder) finish(p *roce.Packet, s shape) {
	r.msn = r.msn.Next()
	e := engine.Event{Kind: engine.ReceiveCQE, Op: s.op, ID: r.msg.receive.ID, Len: r.msg.got, PSN: p.PSN}
	if s.imm {
		e.Imm = p.Imm
	}
	if s.op == engine.OpWriteImm {
		rr, _ := r.receives.Pop()
		e.ID = rr.ID
	}
	r.msg = message{}
	if s.op != engine.OpWrite {
		r.seq = (r.seq + 1) & psn.Mask
		r.events.Push(e)
	}
}

// executeRead accepts a READ: it counts now, and its responses get the next PSNs of their space.
func (r *Responder) executeRead(p *roce.Packet) verdict {
	if v := r.checkRead(p); v != fine {
		return v
	}
	if r.reads.Len() == r.qp.MaxDestRd {
		// The requester has as many READs outstanding as were agreed, so the oldest is not one of them: its data has
		// arrived, and only the answers are lost.
		r.out.ack(r.reads.At(0).end())
		r.reads.forget(r.out.unack)
	}
	r.msn = r.msn.Next()
	r.reads.add(p, r.qp.Packets(p.RETH.DMALen))
	return fine
}
