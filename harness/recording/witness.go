package recording

import (
	"cmp"

	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
)

// witness finds out, for each connection, what speaks against a capture as evidence: that it lacks requests, began in
// the middle of a recovery, or has the frames of one end alone. What it finds fails a property there (trace.Doubt), as
// a bench's certificate does for its own captures. A capture that shows nothing of this may still lack something.
type witness struct {
	header *trace.Header
	lacks  [2][][2]*lack // by tap, connection and requester; that of one tap alone is the first; nil until a packet
	passed [2]bool       // sides of which frames were seen
}

// newWitness returns one for captures of the connections of a header.
func newWitness(h *trace.Header) *witness {
	w := &witness{header: h}
	for tap := range w.lacks {
		if tap == 0 || w.paired() {
			w.lacks[tap] = make([][2]*lack, len(h.Conns))
		}
	}
	return w
}

// paired reports whether there are two taps.
func (w *witness) paired() bool { return w.header.Taps == [2]bool{true, true} }

// follow takes what one frame shows.
func (w *witness) follow(s *sighting, e end) {
	tap := trace.A
	if w.paired() {
		tap = s.tap
	}
	w.passed[e.from] = true
	switch n, exact := span(w.header, s, e); {
	case s.opcode.NumberedApart():
		requester := e.from
		if !s.opcode.IsReadAck() {
			requester = requester.Other()
		}
		w.lack(tap, e.conn, requester).numberedApart(s)
	case s.opcode.IsRequest() && (!exact || !s.headed):
		l := w.lack(tap, e.conn, e.from)
		*l = lack{signs: l.signs, middle: l.middle, apart: l.apart}
	case s.opcode.IsRequest():
		w.lack(tap, e.conn, e.from).asks(s, s.psn.Add(n))
	case s.opcode.IsResponse():
		w.lack(tap, e.conn, e.from.Other()).response(s)
	}
}

// lack returns what a tap lacks of a half-conversation.
func (w *witness) lack(tap trace.Side, conn int32, requester trace.Side) *lack {
	l := &w.lacks[tap][conn][requester]
	if *l == nil {
		*l = new(lack)
	}
	return *l
}

// closed returns what a tap lacks of a half-conversation when all has been read.
func (w *witness) closed(tap trace.Side, conn, req int) *lack {
	l := w.lacks[tap][conn][req]
	if l == nil {
		return &lack{}
	}
	l.close()
	if l.apart != nil {
		l.apart.close()
	}
	return l
}

// guessedPeer is of a connection of which two flows were put together that need not be one.
var guessedPeer = trace.Doubt{Fails: validity.Capture,
	Why: "several flows fit as the answers, and which one they are is a guess"}

// tell says of each half-conversation what is wrong with the evidence, and returns how many frames it has found missing
// at least.
func (w *witness) tell() (located uint64) {
	for i := range w.header.Conns {
		for req := range w.header.Conns[i].Doubts {
			d := &w.header.Conns[i].Doubts[req]
			why, lacks := w.doubt(i, req)
			if located += lacks; d.Fails == 0 && why != "" {
				*d = trace.Doubt{Fails: validity.Capture, Why: why}
			}
		}
	}
	return located
}

// doubt says what is wrong with the evidence on the requests of one end, "" when nothing is known to be, and how many
// frames are missing.
func (w *witness) doubt(conn, req int) (why string, lacks uint64) {
	a := w.closed(trace.A, conn, req)
	if !w.paired() {
		if w.passed[0] != w.passed[1] {
			return "the capture has the frames of one end alone", 0
		}
		data := apartOf(a)
		return cmp.Or(a.why(nil, nil), data.why(nil, nil)), missing(a.signs) + missing(data.signs)
	}
	both := [2]*lack{a, w.closed(trace.B, conn, req)}
	why, n := pair(both, trace.Side(req).Other())
	also, m := pair([2]*lack{apartOf(both[0]), apartOf(both[1])}, trace.Side(req))
	return cmp.Or(why, also), n + m
}

// pair says what is wrong with what two taps show, one of which is at the port of the receiver.
func pair(l [2]*lack, receiver trace.Side) (why string, lacks uint64) {
	a, b, r := l[trace.A], l[trace.B], l[receiver&1]
	return cmp.Or(a.why(b, r), b.why(a, r)), missing(a.alone(b, r)) + missing(b.alone(a, r))
}
