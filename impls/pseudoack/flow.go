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
	watching  state = iota // QPN and MSN are not known yet: as promising, without a promise
	promising              // pseudo-ACKs
	breaking               // a promise is broken, and Local is told with its next request
	silent                 // the QP of Local or of Remote is in error
)

// point is a request that Local may be told of: its last PSN, and the messages that have ended with it.
type point struct {
	psn   psn.PSN
	count int
	ok    bool
}

// flow is the requests of one QP of Local, and what has become of them. The names of PSNs are explained in doc.go.
type flow struct {
	box   *Box
	state state
	local qpAddr // of Local's QP, once known
	far   qpAddr // of Remote's
	mtu   int
	rnr   int        // RNR NAKs without progress that Local would bear; rnrForever without limit
	reply roce.Frame // what the headers of Remote's responses look like
	heard bool       // reply is taken from a real one

	exp    psn.PSN // PSN expected from Local
	begun  bool    // exp is known
	count  int     // messages before exp; the MSN is base and count together
	base   psn.MSN
	msn    psn.MSN // newest that Local has seen
	inside bool    // between FIRST and LAST
	last   roce.Opcode
	asked  point // newest request that wants an ACK
	told   point // newest that Local has been told of
	acked  psn.PSN
	gap    bool // a request came ahead of exp
	naked  bool // Local has been told so
	holds  ring.Ring[hold]
	replay replay

	buffer  frames
	cur     int // next request of the buffer for the WAN
	una     psn.PSN
	nxt     psn.PSN
	max     psn.PSN
	done    int // messages that Remote has acknowledged
	retry   retry
	timer   timer
	queued  bool       // in Box.ready
	gone    bool       // forgotten by the table
	waits   vtime.Time // the entry of it that counts in Box.wakes; Never when none does
	born    int        // its number among all flows
	leaving bool       // Local has sent a DREQ
	dreq    frames

	shown [variables]int64
}

// span is a range of PSNs [first, end).
type span struct{ first, end psn.PSN }

// begin sets all PSNs to the first that Local uses.
func (fl *flow) begin(p psn.PSN) {
	fl.exp, fl.acked, fl.una, fl.nxt, fl.max, fl.begun = p, p, p, p, p, true
}

// wake lines the flow up for the WAN.
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
	// What is sent again may be lost too, and nothing behind it ask for an answer.
	if s.fetch || s.frame.Packet.AckReq || fl.retry.spent > 0 {
		fl.start(now)
	}
	fl.cur++
	fl.release()
	return true
}

// deadline returns when the flow wants to be woken.
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
