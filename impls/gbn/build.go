package gbn

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/rc"
)

// build makes the packet under the cursor. It depends on the request and the position alone, so that a retransmission
// equals the original: a MIDDLE stays a MIDDLE and gets no RETH (IBTA 9.7; RC-PSN-005, GBN-RTX-004).
func (r *Requester) build(p *roce.Packet, w *wqe) {
	*p = roce.Packet{BTH: roce.BTH{PKey: r.qp.PKey, DestQP: r.qp.DestQPN, PSN: r.win.nxt}}
	switch w.Op {
	case engine.OpRead:
		r.buildRead(p, w)
	case engine.OpCompareSwap, engine.OpFetchAdd:
		// One packet there and one back, whatever the MTU.
		p.Opcode, p.AckReq = rc.RequestOpcode(w.Op, true, true), true
		p.RETH = roce.RETH{VA: w.RemoteVA, RKey: w.RKey}
		p.Atomic = roce.AtomicETH{SwapAdd: w.SwapAdd, Compare: w.Compare}
	default:
		r.buildData(p, w)
	}
}

// buildRead asks for what is missing: a READ is re-issued from its first missing packet, with PSN, address and length
// shifted by what has arrived (IBTA 9.7.3).
func (r *Requester) buildRead(p *roce.Packet, w *wqe) {
	have := uint32(r.sq.pkt * r.qp.MTU)
	p.Opcode, p.AckReq = roce.ReadRequest, true
	p.RETH = roce.RETH{VA: w.RemoteVA + uint64(have), RKey: w.RKey, DMALen: w.Len - have}
}

// buildData makes a packet of a SEND or WRITE.
func (r *Requester) buildData(p *roce.Packet, w *wqe) {
	// All packets but the last are full, so the position gives the offset.
	off := r.sq.pkt * r.qp.MTU
	first, last := off == 0, r.sq.pkt == w.packets-1
	p.Opcode = rc.RequestOpcode(w.Op, first, last)
	p.AckReq = last || r.asks()
	rc.LoadPayload(p, r.mem, w.LocalVA+uint64(off), int(w.Len)-off, r.qp.MTU)
	// Only the first packet says where the message goes. The others follow it, which is why a responder can take them
	// in order only, and why IRN adds the address to every packet.
	if first && w.Op >= engine.OpWrite {
		p.RETH = roce.RETH{VA: w.RemoteVA, RKey: w.RKey, DMALen: w.Len}
	}
	if last {
		rc.EndMessage(p, &w.WorkRequest)
	}
}

// asks reports whether a packet before the last of its message requests an ACK: every AckReqEvery-th does, and the one
// that fills the PSN span, because nothing more could be sent to ask later.
func (r *Requester) asks() bool {
	return r.every > 0 && (r.sq.pkt+1)%r.every == 0 || r.win.nxt.Next().Sub(r.win.una) == psn.Half-1
}
