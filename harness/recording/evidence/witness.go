package evidence

import (
	"net/netip"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Witness looks, in each connection, for defects of a capture as evidence: missing packets, a beginning in the middle
// of a recovery, or frames of one end only. A defect fails a property for the half-conversation (trace.Doubt), as the
// certificate of a bench does for its own captures. A capture without such signs may still lack frames.
type Witness struct {
	// reports whether the capture has the first request of a connection's end; nil where that is unknown of all
	Begins func(conn int32, requester trace.Side) bool

	header *trace.Header
	lacks  [2][][2]*lack // by tap, connection and requester; index 0 for a single tap; nil before the first packet
	passed [2][][2]bool  // by tap, connection and sender: frames were seen
	began  [2]vtime.Time // by tap: time of the first frame; vtime.Never before it
	// by tap: the hosts whose frames were seen; set by Tell
	senders []map[netip.Addr]bool
}

// NewWitness returns a Witness for captures of the connections of a header.
func NewWitness(h *trace.Header) *Witness {
	w := &Witness{header: h, began: [2]vtime.Time{vtime.Never, vtime.Never}}
	for tap := range w.lacks {
		if tap == 0 || w.paired() {
			w.lacks[tap] = make([][2]*lack, len(h.Conns))
			w.passed[tap] = make([][2]bool, len(h.Conns))
		}
	}
	return w
}

// paired reports whether there are two taps.
func (w *Witness) paired() bool { return w.header.Taps == [2]bool{true, true} }

// Follow processes a frame.
func (w *Witness) Follow(s *Sighting, e End) {
	tap := trace.A
	if w.paired() {
		tap = s.Tap
	}
	w.passed[tap][e.Conn][e.From] = true
	w.began[tap] = min(w.began[tap], s.At)
	switch n, exact := span(w.header, s, e); {
	case s.Opcode.NumberedApart():
		requester := e.From
		if !s.Opcode.IsReadAck() {
			requester = requester.Other()
		}
		w.lack(tap, e.Conn, requester).numberedApart(s)
	case s.Opcode.IsRequest() && (!exact || !s.Headed):
		l := w.lack(tap, e.Conn, e.From)
		*l = lack{signs: l.signs, middle: l.middle, blind: l.blind, apart: l.apart, whole: l.whole}
	case s.Opcode.IsRequest():
		w.lack(tap, e.Conn, e.From).asks(s, s.PSN.Add(n))
	case s.Opcode.IsResponse():
		w.lack(tap, e.Conn, e.From.Other()).response(s)
	case s.Opcode == roce.LoWAR && s.Length > 0:
		w.lack(tap, e.Conn, e.From).repair(s)
	case s.Opcode == roce.LoWAR:
		l := w.lack(tap, e.Conn, e.From.Other())
		l.coded = true
		l.twice(&l.answers, s)
	}
}

// lack returns the lack of a half-conversation at a tap.
func (w *Witness) lack(tap trace.Side, conn int32, requester trace.Side) *lack {
	l := &w.lacks[tap][conn][requester]
	if *l == nil {
		*l = &lack{whole: w.Begins != nil && w.Begins(conn, requester)}
	}
	return *l
}

// noLack is of the half-conversations without packets.
var noLack lack

// closed closes and returns the lack of a half-conversation at a tap.
func (w *Witness) closed(tap trace.Side, conn, req int) *lack {
	l := w.lacks[tap][conn][req]
	if l == nil {
		return &noLack
	}
	l.close()
	l.began = w.began[tap]
	if l.apart != nil {
		l.apart.close()
		l.apart.began = l.began
	}
	return l
}

// GuessedPeer is the doubt about a connection whose two flows may not belong together.
var GuessedPeer = &trace.Doubt{Fails: validity.Capture,
	Why: "several flows fit as the answers, and which one they are is a guess"}

// hosts returns the hosts whose frames were seen at a tap.
func (w *Witness) hosts(tap int) map[netip.Addr]bool {
	seen := map[netip.Addr]bool{}
	for i := range w.passed[tap] {
		for from, passed := range w.passed[tap][i] {
			if passed {
				seen[w.header.Conns[i].Ends[from].Addr] = true
			}
		}
	}
	return seen
}

// deaf reports whether a tap has the frames of one of a connection's hosts, and none of the other.
func (w *Witness) deaf(conn int) bool {
	ends := &w.header.Conns[conn].Ends
	return slices.ContainsFunc(w.senders, func(seen map[netip.Addr]bool) bool {
		return seen[ends[0].Addr] != seen[ends[1].Addr]
	})
}

// Tell sets the doubts of each half-conversation, and returns the least number of missing frames.
func (w *Witness) Tell() (located uint64) {
	w.senders = []map[netip.Addr]bool{w.hosts(0), w.hosts(1)}
	for i := range w.header.Conns {
		for req := range w.header.Conns[i].Doubts {
			d := &w.header.Conns[i].Doubts[req]
			of, lacks := w.doubt(i, req)
			*d = joined(*d, of)
			located += lacks
		}
	}
	return located
}

// doubt returns the doubt about the requests of one end, nil for none, and the number of missing frames.
func (w *Witness) doubt(conn, req int) (of *trace.Doubt, lacks uint64) {
	a := w.closed(trace.A, conn, req)
	data := apartOf(a)
	if w.paired() {
		both := [2]*lack{a, w.closed(trace.B, conn, req)}
		one, n := pair(both, trace.Side(req).Other())
		also, m := pair([2]*lack{data, apartOf(both[1])}, trace.Side(req))
		of, lacks = joined(one, also), n+m
	} else {
		of = joined(a.doubt(nil, nil), data.doubt(nil, nil))
		lacks = missing(a.signs) + missing(data.signs)
	}
	if w.deaf(conn) {
		why := "the capture has the frames of one end alone"
		if of != nil {
			why = of.Why
		}
		return lacking(why), 0
	}
	return of, lacks
}

// lacking returns the doubt about all the evidence for a reason; nil for none.
func lacking(why string) *trace.Doubt {
	if why == "" {
		return nil
	}
	return &trace.Doubt{Fails: validity.Capture, Why: why}
}

// Widen makes the doubts about single taps doubts about all the evidence, where frames are known to be missing: a sign
// of a missing packet at one tap may be due to another one that is missing at the other.
func Widen(conns []trace.Conn) {
	for i := range conns {
		for _, d := range conns[i].Doubts {
			if d != nil {
				d.At = [2]bool{}
			}
		}
	}
}

// joined returns two doubts as one; nil when there is none.
func joined(a, b *trace.Doubt) *trace.Doubt {
	switch {
	case b == nil, a != nil && covers(a, b):
		return a
	case a == nil, covers(b, a):
		return b
	}
	both := trace.Doubt{Fails: a.Fails | b.Fails, Why: a.Why}
	if a.At != [2]bool{} && b.At != [2]bool{} {
		both.At = [2]bool{a.At[0] || b.At[0], a.At[1] || b.At[1]}
	}
	if a.Until != 0 && b.Until != 0 {
		both.Until = max(a.Until, b.Until)
	}
	return &both
}

// covers reports whether one doubt is about all that another is about, and longer.
func covers(a, b *trace.Doubt) bool {
	everything := [2]bool{}
	taps := a.At == everything || b.At != everything && (a.At[0] || !b.At[0]) && (a.At[1] || !b.At[1])
	return taps && a.Fails&b.Fails == b.Fails && (a.Until == 0 || b.Until != 0 && a.Until >= b.Until)
}

// pair returns the doubt about the evidence of two taps, one of which is at the port of the receiver, and the number of
// missing frames.
func pair(l [2]*lack, receiver trace.Side) (of *trace.Doubt, lacks uint64) {
	r := l[receiver&1]
	for tap, one := range l {
		other := l[1-tap]
		if d := one.doubt(other, r); d != nil {
			d.At[tap] = true
			of = joined(of, d)
		}
		lacks += missing(one.alone(other, r))
	}
	return of, lacks
}
