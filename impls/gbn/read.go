package gbn

import (
	"encoding/binary"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// handleReadResponse places one response of a READ. Responses are accepted in PSN order. The READ is re-issued from the
// first missing response as soon as a later response shows the gap (IBTA 9.7.3), or at the timer with read_gap=wait.
//
// Example, a READ of four packets at PSN 0, whose second response is lost:
//
//	READ_REQUEST 0 (4 packets) ->    <- 0 FIRST, 1 MIDDLE (lost), 2 MIDDLE: gap, 3 LAST: the same gap, no new request
//	READ_REQUEST 1 (3 packets) ->    <- 1 FIRST, 2 MIDDLE, 3 LAST
//
// The opcode is therefore not checked against the position: after a re-issue, FIRST occurs inside the original READ.
// The PSN and the length suffice to place the data.
func (r *Requester) handleReadResponse(now vtime.Time, p *roce.Packet) {
	w := r.sq.owner(p.PSN)
	if w.Op != engine.OpRead {
		r.ignored++
		return
	}
	// Requests before the READ are acknowledged by its response, because the peer answers in order (C9-110).
	first := w.first
	if !r.advance(now, p.PSN) {
		// With read_gap=wait a gap inside this READ waits for the timer. A gap in an older request is an implied NAK.
		inside := r.sq.At(0).first == first
		if !inside || !r.cfg.waitOnGap {
			r.goBack(now)
		}
		return
	}
	r.placeRead(now, p)
}

// placeRead stores the READ response with PSN una; its request is now the oldest.
func (r *Requester) placeRead(now vtime.Time, p *roce.Packet) {
	w := r.sq.At(0)
	off := p.PSN.Sub(w.first) * r.qp.MTU
	n := min(r.qp.MTU, int(w.Len)-off)
	// A response of an unexpected length is fatal: its data cannot be trusted, and a retry would bring the same length.
	if p.Len != n || p.Payload != nil && len(p.Payload) != n {
		r.fail(now, engine.StatusLocalLength)
		return
	}
	if n > 0 && !r.mem.Store(w.LocalVA+uint64(off), p.Payload, n) {
		r.fail(now, engine.StatusLocalProtection)
		return
	}
	r.receive(now, w)
}

// handleAtomicAck stores the original value that the atomic returned, in host order, which is little-endian here.
func (r *Requester) handleAtomicAck(now vtime.Time, p *roce.Packet) {
	w := r.sq.owner(p.PSN)
	if !w.fetches() || w.Op == engine.OpRead {
		r.ignored++
		return
	}
	if !r.advance(now, p.PSN) {
		r.goBack(now)
		return
	}
	w = r.sq.At(0)
	binary.LittleEndian.PutUint64(r.word[:], p.Result)
	if !r.mem.Store(w.LocalVA, r.word[:], len(r.word)) {
		r.fail(now, engine.StatusLocalProtection)
		return
	}
	r.receive(now, w)
}

// receive moves una past a response whose data is in memory, and completes the request with its last response (IBTA
// 9.7.3).
func (r *Requester) receive(now vtime.Time, w *wqe) {
	done := r.win.una == w.last
	r.win.una = r.win.una.Next()
	if done {
		r.complete(engine.StatusSuccess)
	}
	r.progress(now)
}
