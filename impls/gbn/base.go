package gbn

import (
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/rc"
)

// The methods in this file serve a recovery scheme that extends go-back-N and keeps the rest of it unchanged. Such a
// scheme wraps one of these halves and uses these methods beside those of engine.Requester and engine.Responder.

// Window returns the sequence numbers of the requester: [una, max) is sent and not acknowledged, nxt is transmitted
// next, and go-back-N is about to retransmit [nxt, max). Without backto0, una <= nxt <= max.
func (r *Requester) Window() (una, nxt, max psn.PSN) { return r.win.una, r.win.nxt, r.win.max }

// Acknowledge records that the peer has executed all PSNs before upTo. It stops at a READ or atomic whose data are
// missing, and retransmits nothing.
func (r *Requester) Acknowledge(now vtime.Time, upTo psn.PSN) { r.advance(now, upTo) }

// Failed reports whether the QP is in the error state, in which no request is outstanding.
func (r *Requester) Failed() bool { return r.failed }

// Silent reports whether the requester may not transmit at now: the QP failed, or an RNR wait runs.
func (r *Requester) Silent(now vtime.Time) bool { return r.failed || now < r.retry.Until }

// LastOf returns the last PSN that the request packet with PSN p takes: for a READ or atomic the PSN of its last
// response, else p. p lies in [una, max).
func (r *Requester) LastOf(p psn.PSN) psn.PSN {
	if w := r.sq.owner(p); w.fetches() {
		return w.last
	}
	return p
}

// Resend fills p with the packet of PSN at, which lies in [una, max), and does not move the cursor. A READ is
// re-issued for the responses from at on. Resend returns LastOf(at). It starts the transport timer unless it runs,
// whether or not the packet has AckReq.
func (r *Requester) Resend(now vtime.Time, at psn.PSN, p *roce.Packet) psn.PSN {
	w := r.sq.owner(at)
	nxt, pkt := r.win.nxt, r.sq.pkt
	r.win.nxt, r.sq.pkt = at, at.Sub(w.first)
	r.build(p, w)
	r.win.nxt, r.sq.pkt = nxt, pkt
	r.timer.Start(now)
	return r.LastOf(at)
}

// Resume moves the cursor to max, so that transmission continues with the first packet never sent. A rewind stops the
// transport timer; a caller of Resume after a rewind calls Resend for the missing packets, which starts the timer.
func (r *Requester) Resume() {
	if r.win.nxt == r.win.max {
		return
	}
	r.win.nxt, r.sq.cur, r.sq.pkt = r.win.max, r.sq.begun, 0
	// Some packets of the newest begun request may never have been sent.
	if w := r.sq.At(r.sq.begun - 1); r.win.max.LessEq(w.last) {
		r.sq.cur, r.sq.pkt = r.sq.begun-1, r.win.max.Sub(w.first)
	}
}

// Expected returns the PSN that the responder executes next; ok is false in the error state, where no request is
// executed.
func (r *Responder) Expected() (p psn.PSN, ok bool) { return r.epsn, r.state == rc.Ready }

// AcknowledgeNow makes an ACK of the newest executed PSN due, whether or not a packet had AckReq.
func (r *Responder) AcknowledgeNow() { r.ack.now(r.epsn.Prev(), r.msn) }

// Respond returns a response with PSN p and the responder's partition key, destination QP and MSN.
func (r *Responder) Respond(op roce.Opcode, p psn.PSN) roce.Packet { return r.response(op, p, r.msn) }

// Serves reports whether op is a request that the transport executes.
func Serves(op roce.Opcode) bool { return rc.ShapeOf(op).Kind != rc.None }
