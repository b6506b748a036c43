package pseudoack

import (
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/ring"
)

// state is how far the box serves a flow.
type state uint8

const (
	watching  state = iota // Local's QPN and MSN are unknown: requests are buffered and forwarded, not acknowledged
	promising              // requests are acknowledged to Local
	breaking               // a promise is broken; the next request of Local draws NAK 0x63
	silent                 // the flow has ended: a QP is in error, disconnected, or given up
)

// point is a position at which a flow can be acknowledged: the PSN of a request packet, and the number of messages up
// to and including it.
type point struct {
	psn   psn.PSN
	count int
	ok    bool
}

// flow is the requests of one QP of Local and their state. The PSNs exp, una, nxt and max are explained in doc.go.
// Invariant: una <= nxt <= max <= exp.
type flow struct {
	box   *Box
	state state
	local qpAddr // address of Local's QP; the QPN is 0 in state watching
	far   qpAddr // address of Remote's QP
	mtu   int
	rnr   int        // RNR NAKs without progress before the flow is given up; rnrForever is no limit
	reply roce.Frame // headers of the responses that the box generates
	heard bool       // reply is a copy of a response of Remote, and not derived from requests

	exp        psn.PSN // PSN expected from Local
	begun      bool    // exp is known
	count      int     // messages before exp; the MSN of the newest is base+count
	base       psn.MSN // MSN of Remote before the first message of the flow
	msn        psn.MSN // newest MSN sent to Local
	inside     bool    // exp is inside a message
	last       roce.Opcode
	asked      point // newest request with AckReq
	told       point // newest request acknowledged to Local
	acked      psn.PSN
	gap        bool            // a request has arrived ahead of exp
	gapNAKSent bool            // the gap has been answered with a NAK
	holds      ring.Ring[hold] // requests that only Remote can answer, oldest first
	replay     replay

	buffer  frames
	cur     int // index in buffer of the next request to send; 0 <= cur <= buffer.n
	una     psn.PSN
	nxt     psn.PSN
	max     psn.PSN
	done    int // messages that Remote has acknowledged
	retry   retry
	timer   timer
	queued  bool       // in Box.ready
	gone    bool       // removed from the table
	waits   vtime.Time // time of its valid entry in Box.wakes; Never when there is none
	born    int        // number of the flow in order of creation, from 1
	leaving bool       // Local has sent a DREQ
	dreq    frames     // the DREQ, while it waits

	shown [variables]int64
}

// span is a range of PSNs [first, end).
type span struct{ first, end psn.PSN }

// begin sets all PSNs to the first PSN of Local.
func (fl *flow) begin(p psn.PSN) {
	fl.exp, fl.acked, fl.una, fl.nxt, fl.max, fl.begun = p, p, p, p, p, true
}

// wake appends the flow to Box.ready if it has a request to send and is not in it.
func (fl *flow) wake() {
	if !fl.queued && !fl.gone && fl.cur < fl.buffer.n {
		fl.queued = true
		fl.box.ready.Push(fl)
	}
}

// transmit fills f with the request under the cursor and moves the cursor on.
func (fl *flow) transmit(now vtime.Time, f *roce.Frame) bool {
	if fl.gone || now < fl.retry.until || fl.cur >= fl.buffer.n {
		return false
	}
	s := fl.buffer.at(fl.cur)
	*f = s.frame
	if s.fetch {
		fl.resume(&f.Packet)
	}
	fl.nxt = s.end
	fl.max = psn.Max(fl.max, fl.nxt)
	// A retransmission may be lost too, and no later request with AckReq may follow.
	if s.fetch || s.frame.Packet.AckReq || fl.retry.spent > 0 {
		fl.start(now)
	}
	fl.cur++
	fl.release()
	return true
}

// deadline returns the wake-up time of the flow: the earliest of the RNR wait or wan_rto, and the wait for a replay.
func (fl *flow) deadline() vtime.Time {
	at := vtime.Never
	switch {
	case fl.gone:
		return at
	case fl.retry.until != 0:
		at = fl.retry.until
	case fl.timer.running:
		at = fl.timer.at
	}
	if fl.replay.until != 0 {
		at = min(at, fl.replay.until)
	}
	return at
}
