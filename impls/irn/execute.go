package irn

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/rc"
)

// This file keeps the effects that the application sees in PSN order: completions, the MSN, and the memory accesses of
// READs and atomics. A packet in order is checked against the message that it continues. A packet that was placed early
// was checked by itself (place.go), and is not checked again.

// message is the message that the expected PSN belongs to. Of packets that were placed early only the code is known.
type message struct {
	kind    rc.Kind // operation; rc.None between messages, and if the first packet was placed early
	packets int     // packets of the message that expected has passed
	va      uint64  // address of the next byte of a WRITE
	left    uint32  // bytes of a WRITE that may still arrive
}

// open begins a message whose first packet is p.
func (m *message) open(p *roce.Packet, s *rc.Shape) {
	*m = message{kind: s.Kind, va: p.RETH.VA, left: p.RETH.DMALen}
}

// advance moves the position in a WRITE past n bytes.
func (m *message) advance(n int) {
	m.va += uint64(n)
	m.left -= min(m.left, uint32(n))
}

// accept executes the packet with the expected PSN, and reports whether it did. The checks run in the order of
// soft-RoCE: opcode sequence, operation allowed, resources, length, key and bounds.
func (r *Responder) accept(p *roce.Packet, s *rc.Shape) bool {
	v := r.checkSequence(s)
	if v == rc.Fine {
		v = rc.CheckEnabled(s, r.qp.Access)
	}
	if v == rc.Fine && r.lacksReceive(s) {
		// The RNR NAK acknowledges all earlier packets; the packet is checked again when it is retransmitted (IBTA
		// 9.7.5.2.8).
		r.answers.nak(roce.SyndromeRNR|roce.Syndrome(r.qp.MinRNRTimer), p.PSN, r.msn)
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

// reject queues a NAK of a request that must not be executed and moves the QP to the error state, in which queued
// answers are still sent.
func (r *Responder) reject(v rc.Verdict, p psn.PSN) {
	r.state = rc.Rejected
	r.answers.nak(v.Syndrome, p, r.msn)
	r.events.Push(engine.Event{Kind: engine.Fatal, Status: v.Status, PSN: p})
	r.flushReceives(v.Status)
}

// execute executes the packet, without moving expected past it.
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

// spot returns the address for the payload of the expected packet. The address follows from the message and, if the
// packet has such headers, from the packet itself; a packet that contradicts its message is invalid.
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

// spotWrite is spot for a WRITE. A packet with its own RETH is checked like the first packet of a WRITE of the
// remaining bytes; for a packet without a RETH the first packet of the message must have been received in order.
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

// pass moves expected past the expected packet, which has code c. At the last packet of a message it increments the MSN
// and releases the completion of the receive that the message uses, if any (IRN 5.3). It reports false if the oldest
// receive has no completion, because a packet placed early named a receive out of turn.
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
