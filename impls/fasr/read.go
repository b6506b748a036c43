package fasr

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// handleReadResponse processes a READ response as a responder processes a WRITE: a response in order is placed, an
// out-of-order one is stored and answered with a SACK. All answers have the opcode FaSRReadAck.
func (r *Requester) handleReadResponse(now vtime.Time, p *roce.Packet) {
	what := r.in.arrive(p.PSN)
	switch what {
	case inOrder:
		r.takeData(now, p)
		return
	case recorded:
		r.store.put(p)
	case beyond:
		r.ignored++
	}
	if what == old && r.sq.Reads == 0 && r.in.next == r.qp.SendPSN {
		r.ignored++ // before any READ there is nothing to answer
		return
	}
	r.say.respond(&r.in, what, p.PSN, 0)
}

// takeData places the response with PSN RCV-NXT, and the stored responses that follow it without a gap.
func (r *Requester) takeData(now vtime.Time, p *roce.Packet) {
	if !r.place(now, p) {
		return
	}
	recovering, asks := r.in.sr != nil || r.in.fallback, p.AckReq
	r.in.fill()
	for kept := r.store.before(r.in.next); kept != nil && !r.failed; kept = r.store.before(r.in.next) {
		if !r.place(now, kept) {
			r.in.rewind(kept.PSN)
			r.store.clear()
			break
		}
		asks = asks || kept.AckReq
		r.store.drop()
	}
	if r.failed {
		return
	}
	if recovering {
		r.say.ackNow(&r.in, 0)
	} else if asks {
		r.say.ack(now, &r.in, 0, r.qp.AckCoalesce)
	}
	if r.out.busy() {
		r.finish(now)
	} else {
		r.progress(now)
	}
}

// place stores one response in memory; it reports false if the response is not the next of the oldest unfinished READ,
// or cannot be stored.
func (r *Requester) place(now vtime.Time, p *roce.Packet) bool {
	w := r.sq.Fetch(r.placed)
	if w == nil || p.SO.SN != w.SN || p.PSN != r.placed || int(p.SO.Offset) != p.PSN.Sub(w.Data)*r.qp.MTU {
		r.ignored++
		return false
	}
	off := int(p.SO.Offset)
	n := min(r.qp.MTU, int(w.Len)-off)
	switch {
	case p.Len != n || p.Payload != nil && len(p.Payload) != n:
		r.fail(now, engine.StatusLocalLength)
		return false
	case n > 0 && !r.mem.Store(w.LocalVA+uint64(off), p.Payload, n):
		r.fail(now, engine.StatusLocalProtection)
		return false
	}
	r.placed = r.placed.Next()
	return true
}
