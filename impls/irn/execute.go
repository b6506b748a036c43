package irn

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/rc"
)

// What the application sees follows in order here: completions, the MSN, memory read by READs and atomics. A packet in
// order is checked against the message that it continues; one that came early was checked alone (place.go), and passes.

// message is what is known of the message whose turn it is. Packets that came early were placed and are known by their
// code alone.
type message struct {
	kind    rc.Kind // rc.None between messages, and when the first packet came early
	packets int     // passed
	va      uint64
	left    uint32 // bytes that may still come: of a WRITE
}

// open begins a message whose first packet is p.
func (m *message) open(p *roce.Packet, s *rc.Shape) {
	*m = message{kind: s.Kind, va: p.RETH.VA, left: p.RETH.DMALen}
}

// advance passes n bytes of a WRITE.
func (m *message) advance(n int) {
	m.va += uint64(n)
	m.left -= min(m.left, uint32(n))
}

// accept executes the packet whose turn it is, and reports whether it did. The order of the checks is that of
// soft-RoCE: opcode sequence, operation allowed, resources, length, key and bounds.
func (r *Responder) accept(p *roce.Packet, s *rc.Shape) bool {
	v := r.checkSequence(s)
	if v == rc.Fine {
		v = rc.CheckEnabled(s, r.qp.Access)
	}
	if v == rc.Fine && r.lacksReceive(s) {
		// It acknowledges what is before it, and the packet is tried again when it comes again (IBTA 9.7.5.2.8).
		r.say.nak(roce.SyndromeRNR|roce.Syndrome(r.qp.MinRNRTimer), p.PSN, r.msn)
		return false
	}
	if v == rc.Fine {
		v = r.execute(p, s)
	}
	if v != rc.Fine {
		r.reject(v, p.PSN)
	}
	return v == rc.Fine
}

// reject answers a request that must not be executed and moves the QP to the error state; answers still go out.
func (r *Responder) reject(v rc.Verdict, p psn.PSN) {
	r.state = rc.Rejected
	r.say.nak(v.Syndrome, p, r.msn)
	r.events.Push(engine.Event{Kind: engine.Fatal, Status: v.Status, PSN: p})
	r.flushReceives(v.Status)
}

// execute carries out the packet.
func (r *Responder) execute(p *roce.Packet, s *rc.Shape) rc.Verdict {
	switch {
	case s.Kind >= rc.Read && p.Opcode.Class() == roce.ClassRC:
		return rc.CheckForeign(p, s, &r.qp, r.mem)
	case s.Kind >= rc.Read:
		return r.executeFetch(p, s)
	case s.First:
		r.msg.open(p, s)
	}
	if v := rc.CheckPayload(p, s, r.qp.MTU); v != rc.Fine {
		return v
	}
	at, v := r.spot(p, s)
	if v != rc.Fine {
		return v
	}
	if p.Len > 0 && !r.mem.Store(at, p.Payload, p.Len) {
		return rc.LocalFault
	}
	r.msg.advance(p.Len)
	if s.Completes() {
		r.park(r.receives.At(0), p, s)
	}
	return rc.Fine
}

// spot returns where the payload of the packet goes whose turn it is, by the message and, where it has such headers, by
// its own account. The two agree unless the peer is wrong.
func (r *Responder) spot(p *roce.Packet, s *rc.Shape) (va uint64, v rc.Verdict) {
	l := p.Opcode.Layout()
	if l&roce.LayoutSOETH != 0 && p.SO.SN != r.recvSN {
		return 0, rc.Invalid
	}
	if s.Kind == rc.Send {
		rr, off := r.receives.At(0), uint64(r.msg.packets)*uint64(r.qp.MTU)
		switch {
		case l&roce.LayoutSOETH != 0 && uint64(p.SO.Offset) != off:
			return 0, rc.Invalid
		case off+uint64(p.Len) > uint64(rr.Len):
			return 0, rc.TooLong
		}
		return rr.VA + off, rc.Fine
	}
	return r.spotWrite(p, s, l)
}

// spotWrite is spot for a WRITE: with a RETH of its own a packet is judged like the first of what is left of the
// message; without one the message must be known.
func (r *Responder) spotWrite(p *roce.Packet, s *rc.Shape, l roce.Layout) (va uint64, v rc.Verdict) {
	m := &r.msg
	switch {
	case l&roce.LayoutRETH != 0:
		if m.kind != rc.None && (p.RETH.VA != m.va || p.RETH.DMALen != m.left) {
			return 0, rc.Invalid
		}
		if v := checkRest(p, s); v != rc.Fine {
			return 0, v
		}
		if !r.permits(p) {
			return 0, rc.Forbidden
		}
		return p.RETH.VA, rc.Fine
	case m.kind != rc.Write, l&roce.LayoutVAETH != 0 && p.RETH.VA != m.va:
		return 0, rc.Invalid
	case uint32(p.Len) > m.left, s.Last && uint32(p.Len) != m.left:
		return 0, rc.Invalid
	}
	return m.va, rc.Fine
}

// pass moves past the expected packet, which has code c: the MSN counts messages, and a message that completes a
// receive does so now (IRN 5.3). It reports false when there is no completion to release, because a packet that came
// early named another receive than that of its turn.
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
			r.reject(rc.Invalid, at)
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
