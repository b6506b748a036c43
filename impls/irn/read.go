package irn

import (
	"encoding/binary"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// handleReadResponse processes a READ response, or the response to an atomic, as a responder processes a request. It
// answers each with a READ_(N)ACK, which IRN adds so that the responder can detect losses and count the packets in
// flight (IRN 5.2). Out-of-order data is placed at once, since the rPSN determines the READ and the offset.
func (r *Requester) handleReadResponse(now vtime.Time, p *roce.Packet) {
	what := r.in.arrive(p.PSN)
	switch {
	case what == beyond || what == old && r.sq.Reads == 0 && r.in.expected == r.qp.SendPSN:
		r.ignored++ // not requested: no READ has been sent yet
	case what == old:
		r.answers.ack(r.in.expected, 0)
	case what == repeated:
		r.answers.nack(r.in.expected, p.PSN, 0)
	case !r.place(now, p, what):
		r.ignored++
	case what == early:
		r.in.record(p.PSN, partly)
		r.answers.nack(r.in.expected, p.PSN, 0)
	default:
		for r.in.pass(); r.in.code(r.in.expected) != absent; r.in.pass() {
		}
		r.answers.ack(r.in.expected, 0)
		r.received(now)
	}
}

// received is called after data in order has arrived. Data counts as progress only if no request is unacknowledged, so
// that it does not reload the retries of a request that is stuck.
func (r *Requester) received(now vtime.Time) {
	if r.out.busy() {
		r.finish(now)
	} else {
		r.progress(now)
	}
}

// place stores one response, and reports false if no outstanding READ or atomic has requested it. In-order data of an
// unexpected length is fatal: it cannot be trusted, and a retry would bring the same length.
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
