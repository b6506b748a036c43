package gbn

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/rc"
)

// build fills p with the packet at the cursor. The packet depends only on the request and its position in the request,
// so that a retransmission equals the original: a MIDDLE stays a MIDDLE and gets no RETH (IBTA 9.7; RC-PSN-005,
// GBN-RTX-004).
func (r *Requester) build(p *roce.Packet, w *wqe) {
	*p = roce.Packet{BTH: roce.BTH{PKey: r.qp.PKey, DestQP: r.qp.DestQPN, PSN: r.win.nxt}}
	switch w.Op {
	case engine.OpRead:
		r.buildRead(p, w)
	case engine.OpCompareSwap, engine.OpFetchAdd:
		// An atomic is one request packet and one response packet at any MTU.
		p.Opcode, p.AckReq = rc.RequestOpcode(w.Op, true, true), true
		p.RETH = roce.RETH{VA: w.RemoteVA, RKey: w.RKey}
		p.Atomic = roce.AtomicETH{SwapAdd: w.SwapAdd, Compare: w.Compare}
	default:
		r.buildData(p, w)
	}
}

// buildRead fills p with a READ request for the responses from the cursor on: a READ is re-issued from its first
// missing response, with PSN, address and length advanced past the responses that have arrived (IBTA 9.7.3).
func (r *Requester) buildRead(p *roce.Packet, w *wqe) {
	have := uint32(r.sq.pkt * r.qp.MTU)
	p.Opcode, p.AckReq = roce.ReadRequest, true
	p.RETH = roce.RETH{VA: w.RemoteVA + uint64(have), RKey: w.RKey, DMALen: w.Len - have}
}

// buildData fills p with a packet of a SEND or WRITE.
func (r *Requester) buildData(p *roce.Packet, w *wqe) {
	// All packets but the last are full, so the position gives the offset.
	off := r.sq.pkt * r.qp.MTU
	first, last := off == 0, r.sq.pkt == w.packets-1
	p.Opcode = rc.RequestOpcode(w.Op, first, last)
	p.AckReq = last || r.asks()
	rc.LoadPayload(p, r.mem, w.LocalVA+uint64(off), int(w.Len)-off, r.qp.MTU)
	// Only the first packet carries the address of the message. A responder can therefore place the other packets in
	// order only, which is why IRN adds the address to every packet.
	if first && w.Op >= engine.OpWrite {
		p.RETH = roce.RETH{VA: w.RemoteVA, RKey: w.RKey, DMALen: w.Len}
	}
	if last {
		rc.EndMessage(p, &w.WorkRequest)
	}
}

// asks reports whether a packet before the last of its message has AckReq: every AckReqEvery-th packet has, and the
// packet that fills the span of 2^23-1 PSNs, because no packet with AckReq could follow it.
func (r *Requester) asks() bool {
	return r.ackReqEvery > 0 && (r.sq.pkt+1)%r.ackReqEvery == 0 || r.win.nxt.Next().Sub(r.win.una) == psn.Half-1
}
