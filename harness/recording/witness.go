package recording

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
)

// witness finds out, for each connection, what speaks against a capture as evidence: that it lacks requests, began in the middle of a
// recovery, or has the frames of one end alone. What it finds fails a property there (trace.Doubt), as a bench's certificate does for its
// own captures. A capture that shows nothing of this may still lack something.
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
	case s.opcode.IsRequest() && (!exact || !s.headed):
		l := w.lack(tap, e.conn, e.from)
		*l = lack{signs: l.signs, middle: l.middle}
	case s.opcode.IsRequest():
		w.lack(tap, e.conn, e.from).request(s.psn, s.psn.Add(n))
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
	return l
}

// guessedPeer is of a connection of which two flows were put together that need not be one.
var guessedPeer = trace.Doubt{Fails: validity.Capture, Why: "several flows fit as the answers, and which one they are is a guess"}

// tell says of each half-conversation what is wrong with the evidence.
func (w *witness) tell() {
	for i := range w.header.Conns {
		for req := range w.header.Conns[i].Doubts {
			d := &w.header.Conns[i].Doubts[req]
			if why := w.doubt(i, req); d.Fails == 0 && why != "" {
				*d = trace.Doubt{Fails: validity.Capture, Why: why}
			}
		}
	}
}

// doubt says what is wrong with the evidence on the requests of one end; "" when nothing is known to be.
func (w *witness) doubt(conn, req int) string {
	a := w.closed(trace.A, conn, req)
	if !w.paired() {
		if w.passed[0] != w.passed[1] {
			return "the capture has the frames of one end alone"
		}
		return a.why(nil)
	}
	b := w.closed(trace.B, conn, req)
	return cmp.Or(a.why(b), b.why(a))
}

// lack looks for requests of one half-conversation that passed a tap and are not in the capture: those with a later one before them
// that were acknowledged, although the tap has not seen them. Of a packet that was lost nobody acknowledges anything.
type lack struct {
	begun  bool
	newest psn.PSN // behind the newest request
	start  psn.PSN // of the first
	holes  []hole  // in order
	ahead  psn.PSN // newest that was acknowledged and not seen, when far
	far    bool
	signs  []psn.PSN // acknowledged and never seen before, the first few
	middle bool      // what came before the first request seen was not done with
	blind  bool      // an answer passed before any request
	early  psn.PSN   // newest before the first request seen that is said to be received, and has not passed
	late   bool      // there is one
}

// hole is PSNs that were skipped.
type hole struct {
	from, to psn.PSN
	passed   bool // a NAK of what is behind it says that it was received, which it was if it is not sent again
}

// Bounds of what is remembered of a half-conversation, and of what is taken for frames that a capture missed: more are a PSN that is
// wrong.
const (
	holeLimit = 32
	signLimit = 8
	skipLimit = 1 << 15
)

// request follows a request, which takes the PSNs up to end.
func (l *lack) request(p, end psn.PSN) {
	switch {
	case !l.begun:
		l.begun, l.start, l.newest = true, p, end
		return
	case p.Less(l.newest):
		l.before(p)
		l.fill(p, end)
	case p.Sub(l.newest) >= skipLimit:
		return
	case p != l.newest && l.far && p.Sub(l.ahead) > 0:
		l.sign(l.newest)
	case p != l.newest && len(l.holes) < holeLimit:
		l.holes = append(l.holes, hole{from: l.newest, to: p})
	}
	l.far = false
	l.newest = psn.Max(l.newest, end)
}

// before notes that a request is sent or asked for that came before the first one seen.
func (l *lack) before(p psn.PSN) {
	if d := l.start.Sub(p); l.begun && d > 0 && d < skipLimit {
		l.middle = true
	}
}

// fill takes a request that comes late out of the holes.
func (l *lack) fill(p, end psn.PSN) {
	if len(l.holes) == 0 {
		return
	}
	var left []hole
	for _, h := range l.holes {
		if h.to.LessEq(p) || end.LessEq(h.from) {
			left = append(left, h)
			continue
		}
		if h.from.Less(p) {
			left = append(left, hole{h.from, p, h.passed})
		}
		if end.Less(h.to) {
			left = append(left, hole{end, h.to, h.passed})
		}
	}
	l.holes = left
}

// acknowledged follows an answer that says that all requests before p were received.
func (l *lack) acknowledged(p psn.PSN) {
	if l.newest.Less(p) && p.Sub(l.newest) < skipLimit {
		l.ahead, l.far = p.Add(-1), true
	}
	l.asked(p)
	l.holes = slices.DeleteFunc(l.holes, func(h hole) bool {
		covered := h.from.Less(p) && p.LessEq(l.newest)
		if covered {
			l.sign(h.from)
		}
		return covered
	})
}

// asked follows an answer that asks for p: all requests before were received, or its sender is wrong.
func (l *lack) asked(p psn.PSN) {
	if !l.middle {
		l.early, l.late = l.start.Prev(), true
		if p.Less(l.start) {
			l.early = p.Prev()
		}
	}
	for i := range l.holes {
		h := &l.holes[i]
		h.passed = h.passed || h.from.Less(p) && p.LessEq(l.newest)
	}
}

// sign notes one.
func (l *lack) sign(p psn.PSN) {
	if len(l.signs) < signLimit {
		l.signs = append(l.signs, p)
	}
}

// close is called when all has been read: what was acknowledged to the end, and not seen, was missed.
func (l *lack) close() {
	if l.far {
		l.sign(l.newest)
	}
	for _, h := range l.holes {
		if h.passed {
			l.sign(h.from)
		}
	}
}

// received follows an answer that says that a request was received, whatever came of those before it.
func (l *lack) received(p psn.PSN) {
	if l.newest.LessEq(p) && p.Sub(l.newest) < skipLimit {
		l.ahead, l.far = p, true
	}
	for _, h := range l.holes {
		if p.In(h.from, h.to) {
			l.sign(p)
			l.fill(p, p.Next())
			return
		}
	}
}

// response follows an answer, which may say how far its sender has received.
func (l *lack) response(s *sighting) {
	selective := s.opcode.Layout()&roce.LayoutSACKETH != 0
	if !l.begun {
		l.blind, l.middle = true, true
		return
	}
	switch {
	case !s.grants():
		l.before(s.psn)
		l.asked(s.psn)
	case selective, s.opcode.IsReadResponse(), s.opcode == roce.AtomicAck: // the latter to a request that may have been sent again
		l.acknowledged(s.psn)
	default:
		l.acknowledged(s.psn.Next())
	}
	if selective {
		l.received(s.sack)
	}
}

// why says what l found; "" when there is nothing, or when the other tap lacks the same. Then nobody sent it.
func (l *lack) why(other *lack) string {
	for _, p := range l.signs {
		if other == nil || !slices.Contains(other.signs, p) {
			return fmt.Sprintf("the capture lacks packets: psn=%+d was acknowledged and is not in it", p.Sub(l.start))
		}
	}
	switch {
	case other != nil && l.late && other.begun && other.start.LessEq(l.early):
		return fmt.Sprintf("one tap began later than the other: psn=%+d was acknowledged, and passed the other one alone", l.early.Sub(l.start))
	case other != nil && other.blind != l.blind:
		return "one tap began later than the other"
	case l.middle && (other == nil || other.middle):
		return "the capture begins when earlier requests were still to be answered"
	}
	return ""
}
