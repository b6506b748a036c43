package irn

import (
	"encoding/binary"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// handleReadResponse takes a READ response, or the answer to an atomic, as a responder takes a request, and answers
// each with a READ_(N)ACK: IRN adds it so that the responder can tell what is lost and count what is in flight (IRN
// 5.2). Data that comes early is placed at once, since the requester knows by the rPSN what it is part of.
func (r *Requester) handleReadResponse(now vtime.Time, p *roce.Packet) {
	what := r.in.arrive(p.PSN)
	switch {
	case what == beyond || what == old && r.sq.Reads == 0 && r.in.expected == r.qp.SendPSN:
		r.ignored++ // nobody asked for it: before any READ there is nothing to answer
	case what == old:
		r.say.ack(r.in.expected, 0)
	case what == repeated:
		r.say.nack(r.in.expected, p.PSN, 0)
	case !r.place(now, p, what):
		r.ignored++
	case what == early:
		r.in.record(p.PSN, partly)
		r.say.nack(r.in.expected, p.PSN, 0)
	default:
		for r.in.pass(); r.in.code(r.in.expected) != absent; r.in.pass() {
		}
		r.say.ack(r.in.expected, 0)
		r.received(now)
	}
}

// received follows data in order. When nothing but data is awaited it is progress; a request that is stuck is not
// helped by it.
func (r *Requester) received(now vtime.Time) {
	if r.out.busy() {
		r.finish(now)
	} else {
		r.progress(now)
	}
}

// place stores one response. It reports false when the response is not one that was asked for; data in order of another
// length than was asked for cannot be trusted at all, and asking again would bring the same.
func (r *Requester) place(now vtime.Time, p *roce.Packet, what arrival) bool {
	w := r.sq.Fetch(p.PSN)
	if w == nil || p.SO.SN != w.SN {
		return false
	}
	pkt := p.PSN.Sub(w.Data)
	off := pkt * r.qp.MTU
	n := min(r.qp.MTU, int(w.Len)-off)
	data := p.Payload
	if w.Op != engine.OpRead {
		binary.LittleEndian.PutUint64(r.word[:], p.Result) // host order, which is little-endian here
		data = r.word[:]
	} else if int(p.SO.Offset) != off {
		return false
	} else if p.Len != n || data != nil && len(data) != n {
		if what == inOrder {
			r.fail(now, engine.StatusLocalLength)
		}
		return false
	}
	if n > 0 && !r.mem.Store(w.LocalVA+uint64(off), data, n) {
		r.fail(now, engine.StatusLocalProtection)
		return false
	}
	return true
}
