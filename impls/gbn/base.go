package gbn

import (
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/rc"
)

// What a recovery scheme that adds to go-back-N, and leaves the rest of it as it is, needs beyond the methods of
// engine.Requester and engine.Responder. Such a scheme holds one of these halves and stands before it.

// Window returns the sequence numbers of the requester: [una, max) is sent and not acknowledged, and transmission goes
// on at nxt. Between nxt and max lies what go-back-N is about to send again.
func (r *Requester) Window() (una, nxt, max psn.PSN) { return r.win.una, r.win.nxt, r.win.max }

// Acknowledge takes note that the peer has everything before upTo. It stops at a READ or atomic whose data are missing,
// and goes back for nothing.
func (r *Requester) Acknowledge(now vtime.Time, upTo psn.PSN) { r.advance(now, upTo) }

// Failed reports the error state, in which nothing is outstanding.
func (r *Requester) Failed() bool { return r.failed }

// Silent reports whether nothing may be sent now: the QP failed, or the peer asked to wait.
func (r *Requester) Silent(now vtime.Time) bool { return r.failed || now < r.retry.Until }

// LastOf returns the last PSN of the request packet with PSN p, which lies in [una, max): for a READ that of its last
// response, else p.
func (r *Requester) LastOf(p psn.PSN) psn.PSN {
	if w := r.sq.owner(p); w.fetches() {
		return w.last
	}
	return p
}

// Resend fills p with the packet of PSN at, which lies in [una, max), and leaves the cursor where it is. A READ is
// asked for from at on; the result is LastOf(at). The timer runs from now on, whether or not the packet asks for an
// answer.
func (r *Requester) Resend(now vtime.Time, at psn.PSN, p *roce.Packet) psn.PSN {
	w := r.sq.owner(at)
	nxt, pkt := r.win.nxt, r.sq.pkt
	r.win.nxt, r.sq.pkt = at, at.Sub(w.first)
	r.build(p, w)
	r.win.nxt, r.sq.pkt = nxt, pkt
	r.timer.Start(now)
	return r.LastOf(at)
}

// Resume makes transmission go on with what was never sent. Whoever calls it after a rewind, which stops the timer,
// resends what the peer misses, which starts it.
func (r *Requester) Resume() {
	if r.win.nxt == r.win.max {
		return
	}
	r.win.nxt, r.sq.cur, r.sq.pkt = r.win.max, r.sq.begun, 0
	// The newest request may have begun and not ended.
	if w := r.sq.At(r.sq.begun - 1); r.win.max.LessEq(w.last) {
		r.sq.cur, r.sq.pkt = r.sq.begun-1, r.win.max.Sub(w.first)
	}
}

// Expected returns the PSN that the responder executes next, and whether it still executes anything.
func (r *Responder) Expected() (p psn.PSN, ok bool) { return r.epsn, r.state == rc.Ready }

// AcknowledgeNow answers with the newest PSN executed, whether or not a packet has asked for it.
func (r *Responder) AcknowledgeNow() { r.ack.now(r.epsn.Prev(), r.msn) }

// Respond returns a response with the responder's numbers in it: QP, partition, MSN.
func (r *Responder) Respond(op roce.Opcode, p psn.PSN) roce.Packet { return r.response(op, p, r.msn) }

// Serves reports a request that the transport executes.
func Serves(op roce.Opcode) bool { return rc.ShapeOf(op).Kind != rc.None }
