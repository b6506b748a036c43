package irn

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// What the application sees follows in order here: completions, the MSN, memory read by READs and atomics. A packet in
// order is checked against the message that it continues; one that came early was checked alone (place.go), and passes.

// message is what is known of the message whose turn it is. Packets that came early were placed and are known by their
// code alone.
type message struct {
	kind    kind // kindNone between messages, and when the first packet came early
	packets int  // passed
	va      uint64
	left    uint32 // bytes that may still come: of a WRITE
}

// open begins a message whose first packet is p.
func (m *message) open(p *roce.Packet, s shape) {
	*m = message{kind: s.kind, va: p.RETH.VA, left: p.RETH.DMALen}
}

// advance passes n bytes of a WRITE.
func (m *message) advance(n int) {
	m.va += uint64(n)
	m.left -= min(m.left, uint32(n))
}

// accept executes the packet whose turn it is, and reports whether it did. The order of the checks is that of soft-RoCE:
// opcode sequence, operation allowed, resources, length, key and bounds.
func (r *Responder) accept(p *roce.Packet, s shape) bool {
	v := r.checkSequence(s)
	if v == fine {
		v = r.checkEnabled(s)
	}
	if v == fine && r.lacksReceive(s) {
		// It acknowledges what is before it, and the packet is tried again when it comes again (IBTA 9.7.5.2.8).
		r.say.nak(roce.SyndromeRNR|roce.Syndrome(r.qp.MinRNRTimer), p.PSN, r.msn)
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

// reject answers a request that must not be executed and moves the QP to the error state; answers still go out.
func (r *Responder) reject(v verdict, p psn.PSN) {
	r.state = rejected
	r.say.nak(v.syndrome, p, r.msn)
	r.events.Push(engine.Event{Kind: engine.Fatal, Status: v.status, PSN: p})
	r.flushReceives(v.status)
}

// execute carries out the packet.
func (r *Responder) execute(p *roce.Packet, s shape) verdict {
	switch {
	case s.kind >= kindRead && p.Opcode.Class() == roce.ClassRC:
		return r.checkForeign(p, s)
	case s.kind >= kindRead:
		return r.executeFetch(p, s)
	case s.first:
		r.msg.open(p, s)
	}
	if v := checkPacket(&r.qp, p, s); v != fine {
		return v
	}
	at, v := r.spot(p, s)
	if v != fine {
		return v
	}
	if p.Len > 0 && !r.mem.Store(at, p.Payload, p.Len) {
		return localFault
	}
	r.msg.advance(p.Len)
	if s.completes() {
		r.park(r.receives.At(0), p, s)
	}
	return fine
}

// spot returns where the payload of the packet goes whose turn it is, by the message and, where it has such headers, by
// its own account. The two agree unless the peer is wrong.
func (r *Responder) spot(p *roce.Packet, s shape) (va uint64, v verdict) {
	l := p.Opcode.Layout()
	if l&roce.LayoutSOETH != 0 && p.SO.SN != r.recvSN {
		return 0, invalid
	}
	if s.kind == kindSend {
		rr, off := r.receives.At(0), uint64(r.msg.packets)*uint64(r.qp.MTU)
		switch {
		case l&roce.LayoutSOETH != 0 && uint64(p.SO.Offset) != off:
			return 0, invalid
		case off+uint64(p.Len) > uint64(rr.Len):
			return 0, tooLong
		}
		return rr.VA + off, fine
	}
	return r.spotWrite(p, s, l)
}

// spotWrite is spot for a WRITE: with a RETH of its own a packet is judged like the first of what is left of the message;
// without one the message must be known.
func (r *Responder) spotWrite(p *roce.Packet, s shape, l roce.Layout) (va uint64, v verdict) {
	m := &r.msg
	switch {
	case l&roce.LayoutRETH != 0:
		if m.kind != kindNone && (p.RETH.VA != m.va || p.RETH.DMALen != m.left) {
			return 0, invalid
		}
		if v := checkRest(p, s); v != fine {
			return 0, v
		}
		if !r.permits(p, engine.RemoteWrite) {
			return 0, forbidden
		}
		return p.RETH.VA, fine
	case m.kind != kindWrite, l&roce.LayoutVAETH != 0 && p.RETH.VA != m.va:
		return 0, invalid
	case uint32(p.Len) > m.left, s.last && uint32(p.Len) != m.left:
		return 0, invalid
	}
	return m.va, fine
}

// pass moves past the expected packet, which has code c: the MSN counts messages, and a message that completes a receive
// does so now (IRN 5.3). It reports false when there is no completion to release, because a packet that came early named
// another receive than that of its turn.
func (r *Responder) pass(c code) bool {
	at := r.in.expected
	r.in.pass()
	if c == partly {
		r.msg.packets++
		return true
	}
	got := uint32(r.msg.packets * r.qp.MTU)
	if c == waiting {
		rr := r.receives.Len()
		if rr == 0 || !r.receives.At(0).done {
			r.reject(invalid, at)
			return false
		}
		e := r.receives.At(0).cqe
		e.Len += got
		r.events.Push(e)
		r.receives.Drop()
		r.recvSN = (r.recvSN + 1) & psn.Mask
		r.parked--
	}
	r.msn = r.msn.Next()
	r.msg = message{}
	return true
}
